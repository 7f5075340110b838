import { resilientFetch } from 'resilient-sse'
import {
  answer,
  end,
  eventLog,
  FaultServer,
  ignoreId,
  replay,
  reset,
  rest,
  retry,
  type Step,
  send,
  silence,
  stay,
} from 'resilient-sse/testing'
import { describe, test } from 'vitest'
import { FEED_READERS, type FeedReader } from './feeds.ts'

const FETCHES = {
  bare: () => globalThis.fetch,
  wrapped: () => resilientFetch({ heartbeat: { timeoutMs: 400 }, backoff: { baseMs: 20, maxMs: 200 } }),
}

const LOG = { count: 60, ids: 'opaque', bytes: [20, 3_000], seed: 5 } as const
const log = eventLog(LOG)
const sent = Array.from({ length: LOG.count }, (_, at) => `${log.idAt(at)} ${log.at(at).data}`)
const PATIENCE_MS = 4_000

async function outcome(reader: FeedReader, fetch: typeof globalThis.fetch, url: string): Promise<string> {
  const received: string[] = []
  const enough = new AbortController()
  let timer = setTimeout(() => enough.abort('hangs'), PATIENCE_MS)
  const reading = reader.read(
    fetch,
    url,
    (id, data) => {
      received.push(`${id} ${data}`)
      clearTimeout(timer)
      const isLast = received.at(-1) === sent.at(-1)
      timer = setTimeout(() => enough.abort(isLast ? 'all' : 'hangs'), isLast ? 50 : PATIENCE_MS)
    },
    enough.signal,
  )
  const gaveUp = await reading.then(
    () => 'ends',
    (error: Error) => `throws ${error.name}`,
  )
  clearTimeout(timer)
  const doubled = received.length - new Set(received).size
  const lost = sent.filter(event => !received.includes(event)).length
  const how = enough.signal.aborted ? enough.signal.reason : gaveUp
  return [how, doubled && `doubled ${doubled}`, lost && `lost ${lost}`].filter(Boolean).join(', ')
}

interface Row {
  fault: string
  script: Step[][]
  /** What becomes of it, bare and wrapped; for some readers something else. */
  bare: string
  wrapped: string
  except?: Record<string, { bare?: string; wrapped?: string }>
  /** How many requests a wrapped reader's server sees. */
  dials: number
}

// A `retry:` that keeps readers from waiting for seconds; it is above the pace that counts as a loop.
const lost: Step[] = [retry(101), send(20), reset()]
/** ky reads one response, and stops where it breaks. */
const ky = { bare: 'throws TypeError, lost 40' }
const ENDS = { bare: 'ends, lost 40', wrapped: 'ends, lost 40' }

const ROWS: Row[] = [
  {
    fault: 'the connection is reset, twice',
    script: [lost, [send(20), reset()]],
    bare: 'all',
    wrapped: 'all',
    except: { ky },
    dials: 3,
  },
  {
    fault: 'the connection falls silent',
    script: [[retry(101), send(20), silence()]],
    bare: 'hangs, lost 40',
    wrapped: 'all',
    dials: 2,
  },
  {
    fault: 'the server restarts behind a gateway that answers 503',
    script: [lost, [answer(503)]],
    bare: 'all',
    wrapped: 'all',
    except: { ky, eventsource: { bare: 'ends, lost 40' } },
    dials: 3,
  },
  {
    fault: 'a replay begins with the last event that came',
    script: [lost, [replay({ overlap: 1 }), send(20), reset()], [replay({ overlap: 1 }), rest(), stay()]],
    bare: 'all, doubled 2',
    wrapped: 'all',
    except: { ky },
    dials: 3,
  },
  {
    fault: 'the server begins again with its first event',
    script: [lost, [ignoreId(), rest(), stay()]],
    bare: 'all, doubled 20',
    wrapped: 'all',
    except: { ky },
    dials: 2,
  },
  {
    fault: 'the server ends the response politely, twice: what it means is for the reader to say',
    script: [
      [retry(101), send(20), end()],
      [send(20), end()],
    ],
    bare: 'all',
    wrapped: 'all',
    except: { ky: ENDS, '@microsoft/fetch-event-source': ENDS },
    dials: 3,
  },
]

describe.concurrent.each(FEED_READERS)('$name', reader => {
  for (const { fault, script, except, dials, ...ends } of ROWS) {
    for (const kind of ['bare', 'wrapped'] as const) {
      const expected = except?.[reader.name]?.[kind] ?? ends[kind]
      test(`${kind}, when ${fault}: ${expected}`, async ({ expect }) => {
        await using server = await FaultServer.start({ log: LOG, script })
        expect(await outcome(reader, FETCHES[kind](), server.url)).toBe(expected)
        if (kind === 'bare') return
        const [first, ...others] = server.requests.map(({ lastEventId }) => lastEventId)
        expect(first).toBeUndefined()
        expect(others).not.toContain(undefined)
        expect(others).toHaveLength(expected === 'all' ? dials - 1 : 0)
      })
    }
  }
})

describe.concurrent.each(FEED_READERS.filter(({ name }) => !/^eventsource/.test(name)))('$name', reader => {
  test('is not made to dial again when a finite stream has ended', async ({ expect }) => {
    await using server = await FaultServer.start({ log: LOG, script: [[rest(), end()]] })
    expect(await outcome(reader, FETCHES.wrapped(), server.url)).toBe('ends')
    expect(server.requests).toHaveLength(1)
  })
})
