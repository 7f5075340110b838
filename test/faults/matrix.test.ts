import { readFileSync } from 'node:fs'
import { ResilientSse, type ResilientSseOptions, type SseEvent } from 'resilient-sse'
import {
  answer,
  bigEvent,
  type EventLogOptions,
  endlessComment,
  endlessData,
  endlessLine,
  eventLog,
  FaultServer,
  redirect,
  rest,
  type SpawnOptions,
  type Step,
  send,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { RECOVERABLE } from './matrix-cases.ts'
import { builtTesting, expectDials, FAST, failure, positions, until, Witness } from './support.ts'

const COUNT = 500
const LOG = { count: COUNT, ids: 'opaque', bytes: [20, 200_000], seed: 67 } as const satisfies EventLogOptions
const log = eventLog(LOG)
const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}.pem`, import.meta.url), 'utf8')
const SELF_SIGNED = { key: fixture('self-signed.key'), cert: fixture('self-signed.cert') }
const EXPIRED = { key: fixture('expired.key'), cert: fixture('expired.cert') }

const spawn = (options: SpawnOptions) => FaultServer.spawn({ modulePath: builtTesting(), ...options })

describe('recoverable faults at three seeded positions: nothing lost, nothing doubled, in order, byte for byte', () => {
  test.each(RECOVERABLE)('$name', async ({ name, legs, options, replays, extras = [], gaps = [], tls }) => {
    await using server = await spawn({ log: LOG, ...(tls ? { tls: SELF_SIGNED } : {}) })
    const place = { url: server.url, elsewhere: server.url.replace('127.0.0.1', 'localhost') }
    const script: Step[][] = []
    const ids: (string | undefined)[] = []
    let sent = 0
    for (const position of [...positions(name, 3, COUNT - 10), COUNT]) {
      const replayed = sent > 0 ? (replays?.again(sent) ?? 0) : 0
      const outage =
        position === COUNT
          ? [{ script: [rest(), stay()], brings: COUNT - sent }]
          : legs(position - sent, { ...place, replayed })
      for (const [index, leg] of outage.entries()) {
        ids.push(sent === 0 ? undefined : log.idAt(sent - 1))
        script.push(index === 0 && sent > 0 ? [...(replays?.words ?? []), ...leg.script] : leg.script)
        sent += leg.brings
      }
    }
    await server.setScript(script)

    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      ...FAST,
      ...options,
      ...(tls ? { tcp: { connect: { ca: SELF_SIGNED.cert } } } : {}),
      onLifecycle: witness.onLifecycle,
    })
    const outside: string[] = []
    let index = 0
    for await (const event of stream) {
      if (event.id === undefined) {
        outside.push(event.data)
        continue
      }
      compare(event, index++)
      if (index === COUNT) break
    }

    expect(index).toBe(COUNT)
    expect(outside).toEqual(extras)
    expect(witness.of('gap').map(({ reason }) => reason)).toEqual(gaps)
    const headers = options?.headers === undefined ? {} : { authorization: 'Bearer fresh' }
    // A header of the user's stays behind when a redirect leaves the origin; the id goes with the request.
    expectDials(await server.requests(), ids, headers)
    await until(async () => (await server.openSockets()) === 0, 'every socket is closed', 1_000)
  })
})

/** Made once: fifty megabytes of text, for each case the same. */
const expected = Array.from({ length: COUNT }, (_, index) => log.at(index))

/** Equal strings are equal bytes in UTF-8; a character that was torn apart has become U+FFFD. */
function compare({ id, data }: SseEvent, index: number): void {
  const sent = expected[index]
  if (sent !== undefined && id === sent.id && data === sent.data) return
  // Not with expect(): a difference of 200 KB is no help to a reader.
  throw new Error(
    `event ${index}: expected ${sent?.id} of ${sent?.data.length} characters, got ${id} of ${data.length}`,
  )
}

test.runIf(process.env.RESILIENT_SSE_PACKAGE)('what runs here is the installed package', () => {
  const stack = (() => {
    try {
      new ResilientSse('not a URL')
    } catch (error) {
      return (error as Error).stack
    }
  })()
  expect(stack).toContain(`${process.env.RESILIENT_SSE_PACKAGE}/dist/`)
})

interface Refusal {
  name: string
  code: string
  script?: Step[]
  options?: ResilientSseOptions
  /** Where to dial, if not at the server. */
  url?: string
  /** The port refuses connections. */
  refuses?: boolean
  tls?: { key: string; cert: string }
  /** Requests that reach the server; default 1. */
  requests?: number
  /** Dials that the client makes; default 1. */
  dials?: number
  status?: number
  /** Events that are delivered before the refusal. */
  events?: number
}

const REFUSALS: Refusal[] = [
  {
    name: 'an event of 64 MiB',
    code: 'ERR_SSE_EVENT_TOO_LARGE',
    script: [send(3), bigEvent(64 * 1024 * 1024)],
    events: 3,
  },
  {
    name: 'a line that never ends',
    code: 'ERR_SSE_EVENT_TOO_LARGE',
    script: [send(3), endlessLine()],
    events: 3,
  },
  {
    name: 'data lines that never end',
    code: 'ERR_SSE_EVENT_TOO_LARGE',
    script: [send(3), endlessData()],
    events: 3,
  },
  { name: 'a comment that never ends', code: 'ERR_SSE_EVENT_TOO_LARGE', script: [endlessComment()] },
  {
    name: 'a redirect loop',
    code: 'ERR_SSE_REDIRECT',
    script: [redirect('@self')],
    requests: 21,
    status: 302,
  },
  { name: 'a redirect without Location', code: 'ERR_SSE_REDIRECT', script: [redirect()], status: 302 },
  {
    name: 'HTML with status 200 first',
    code: 'ERR_SSE_CONTENT_TYPE',
    script: [answer(200, { body: '<!doctype html>' })],
    status: 200,
  },
  {
    name: 'text/event-streamx',
    code: 'ERR_SSE_CONTENT_TYPE',
    script: [answer(200, { headers: { 'content-type': 'text/event-streamx' }, body: 'data: x\n\n' })],
    status: 200,
  },
  ...[400, 401, 403, 404, 410, 501].map(status => ({
    name: String(status),
    code: 'ERR_SSE_HTTP',
    script: [answer(status)],
    status,
  })),
  { name: 'a self-signed certificate', code: 'ERR_SSE_CERTIFICATE', tls: SELF_SIGNED, requests: 0 },
  {
    name: 'an expired certificate',
    code: 'ERR_SSE_CERTIFICATE',
    tls: EXPIRED,
    options: { tcp: { connect: { ca: EXPIRED.cert } } },
    requests: 0,
  },
  {
    name: 'a certificate for another name',
    code: 'ERR_SSE_CERTIFICATE',
    tls: SELF_SIGNED,
    options: { tcp: { connect: { ca: SELF_SIGNED.cert, servername: 'other.example' } } },
    requests: 0,
  },
  {
    name: 'a port where nobody listens',
    code: 'ERR_SSE_CIRCUIT_OPEN',
    refuses: true,
    requests: 0,
    dials: 6,
  },
  {
    name: 'a host name that does not exist',
    code: 'ERR_SSE_CIRCUIT_OPEN',
    url: 'http://no-such-host.invalid/events',
    requests: 0,
    dials: 6,
  },
  {
    name: '503 from the beginning',
    code: 'ERR_SSE_CIRCUIT_OPEN',
    script: [answer(503)],
    requests: 6,
    dials: 6,
  },
  {
    name: 'a POST whose answer was cut',
    code: 'ERR_SSE_NOT_RESENT',
    script: [send(3), { do: 'cut' }],
    options: { method: 'POST', body: 'hello' },
    events: 3,
  },
]

describe('refusals: the exact code, in bounded time and bounded memory', () => {
  test.each(REFUSALS)('$name: $code', async refusal => {
    const {
      script = [rest(), stay()],
      options,
      tls,
      requests = 1,
      dials = 1,
      events: delivered = 0,
    } = refusal
    await using server = await spawn({ otherwise: script, log: { count: 3 }, ...(tls ? { tls } : {}) })
    if (refusal.refuses) await server.refuse()
    const witness = new Witness()
    const url = refusal.url ?? server.url
    const memory = new Peak()
    const startedAt = performance.now()
    const { error, events } = await failure(
      new ResilientSse(url, { ...FAST, ...options, onLifecycle: witness.onLifecycle }),
    )
    expect(error.code).toBe(refusal.code)
    expect(error.retryable).toBe(refusal.code === 'ERR_SSE_CIRCUIT_OPEN')
    expect(events).toHaveLength(delivered)
    expect((error as { status?: number }).status).toBe(refusal.status)
    expect(performance.now() - startedAt, 'milliseconds').toBeLessThan(5_000)
    expect(memory.stop(), 'megabytes above the start, at the worst moment').toBeLessThan(100)
    expect(witness.of('dial').map(({ lastEventId }) => lastEventId)).toEqual(Array(dials).fill(undefined))
    const post =
      options?.method === 'POST' ? { 'content-type': 'text/plain;charset=UTF-8', 'content-length': '5' } : {}
    expectDials(await server.requests(), Array(requests).fill(undefined), post)
    expect(witness.types.at(-1)).toBe('close')
    await until(async () => (await server.openSockets()) === 0, 'every socket is closed', 1_000)
  })
})

/** The most memory that the process held, above what it held at first. */
class Peak {
  readonly #base = total()
  #peak = 0
  readonly #timer = setInterval(() => this.#look(), 5)

  #look(): void {
    this.#peak = Math.max(this.#peak, total() - this.#base)
  }

  stop(): number {
    this.#look()
    clearInterval(this.#timer)
    return this.#peak / 1024 / 1024
  }
}

function total(): number {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}
