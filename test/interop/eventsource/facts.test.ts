import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import polyfill from 'event-source-polyfill'
import { EventSource as Eventsource } from 'eventsource'
import { EventSource as Extended } from 'extended-eventsource'
import launchdarkly from 'launchdarkly-eventsource'
import Reconnecting from 'reconnecting-eventsource'
import { EventSource } from 'resilient-sse/eventsource'
import {
  answer,
  cutInside,
  eventLog,
  FaultServer,
  ignoreId,
  reset,
  rest,
  retry,
  type Step,
  send,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'

// What docs/eventsource.md says of other libraries, seen on the installed versions.

const LOG = { count: 20, seed: 3 } as const
const log = eventLog(LOG)
const sent = Array.from({ length: LOG.count }, (_, index) => log.at(index).data)
const QUICK = retry('100')
const THE_REST = [rest(), stay()]

/** The part of them that all libraries have in common. */
interface Source {
  onmessage: unknown
  onerror: unknown
  addEventListener(type: string, listener: () => void): void
  readyState: number
  close(): void
}

const LIBRARIES: Record<string, (url: string) => Source> = {
  eventsource: url => new Eventsource(url),
  'event-source-polyfill': url => new polyfill.EventSourcePolyfill(url),
  'extended-eventsource': url => new Extended(url, { disableLogger: true, retry: 100 }) as Source,
  'launchdarkly-eventsource': url => new launchdarkly.EventSource(url, { initialRetryDelayMillis: 100 }),
  'reconnecting-eventsource': url =>
    new Reconnecting(url, {
      max_retry_time: 300,
      eventSourceClass: Eventsource as unknown as typeof globalThis.EventSource,
    }) as Source,
}

function open(library: string, url: string): Source {
  const source = (LIBRARIES[library] as (url: string) => Source)(url)
  // Without one an error of launchdarkly-eventsource is thrown where nobody can catch it.
  source.onerror = () => {}
  return source
}

interface Outcome {
  lost: number
  doubled: number
  readyState: number | undefined
  targets: string[]
  cursors: (string | undefined)[]
}

/** Until the last event came, or the library gave up. */
async function observe(library: string, script: Step[][]): Promise<Outcome> {
  await using server = await FaultServer.start({ log: LOG, script })
  const received: string[] = []
  let readyState: number | undefined
  const source = open(library, server.url)
  source.onmessage = ({ data }: { data: string }) => received.push(data)
  try {
    await expect
      .poll(() => received.includes(sent.at(-1) as string) || source.readyState === 2, { timeout: 20_000 })
      .toBe(true)
    // What would still come now, comes soon.
    await new Promise(resolve => setTimeout(resolve, 500))
  } finally {
    // Its state is of interest first.
    readyState = source.readyState
    source.close()
  }
  const distinct = new Set(received)
  return {
    lost: sent.filter(data => !distinct.has(data)).length,
    doubled: received.length - distinct.size,
    readyState,
    targets: server.requests.map(({ url }) => url),
    cursors: server.requests.map(({ lastEventId }) => lastEventId),
  }
}

const CUT = [[QUICK, send(5), cutInside('event')], THE_REST]
const RESTART = [[QUICK, send(5), reset()], [answer(503)], THE_REST]
const REPLAY_OF_ALL = [
  [QUICK, send(5), reset()],
  [ignoreId(), ...THE_REST],
]

describe.concurrent('a 503 in answer to a reconnect', () => {
  test.each(['eventsource', 'event-source-polyfill', 'extended-eventsource'])(
    'ends %s for good',
    async library => {
      const { lost, readyState } = await observe(library, RESTART)
      expect({ lost, readyState }).toEqual({ lost: 15, readyState: 2 })
    },
  )

  test.each(['launchdarkly-eventsource', 'reconnecting-eventsource'])(
    'is dialled again by %s',
    async library => {
      const { lost, readyState } = await observe(library, RESTART)
      expect({ lost, readyState }).toEqual({ lost: 0, readyState: 1 })
    },
  )
})

describe.concurrent('events that the server sends again', () => {
  test.each(Object.keys(LIBRARIES))('are delivered again by %s', async library => {
    const { doubled } = await observe(library, REPLAY_OF_ALL)
    expect(doubled).toBe(5)
  })
})

describe.concurrent('the cursor', () => {
  test.each(['eventsource', 'extended-eventsource', 'launchdarkly-eventsource'])(
    'is sent by %s in the header',
    async library => {
      const { cursors, targets } = await observe(library, CUT)
      expect(cursors[0]).toBeUndefined()
      expect(cursors[1]).toMatch(/^\w{16}$/)
      expect(targets).toEqual(['/events', '/events'])
    },
  )

  test('is sent by event-source-polyfill in the query only', async () => {
    const { cursors, targets } = await observe('event-source-polyfill', CUT)
    expect(cursors).toEqual([undefined, undefined])
    expect(targets).toEqual(['/events', `/events?lastEventId=${log.idAt(4)}`])
  })
})

describe('extended-eventsource', () => {
  test('tells an event of a block without data', async () => {
    await using server = await FaultServer.start({ log: LOG, script: [[QUICK, stay()]] })
    const source = open('extended-eventsource', server.url)
    const data = await new Promise(resolve => {
      source.onmessage = (event: MessageEvent) => resolve(event.data)
    })
    source.close()
    expect(data).toBe('')
  })

  test('calls its fetch with a Request, and sends a POST again', async () => {
    await using server = await FaultServer.start({ log: LOG, script: [CUT[0] as Step[], THE_REST] })
    const inputs: unknown[] = []
    const source = new Extended(server.url, {
      method: 'POST',
      body: 'x',
      retry: 100,
      disableLogger: true,
      fetch: (...args) => {
        inputs.push(...args)
        return fetch(...args)
      },
    })
    await expect.poll(() => server.requests.length).toBe(2)
    source.close()
    expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'POST'])
    expect(inputs).toEqual([expect.any(Request), expect.any(Request)])
  })
})

describe('reconnecting-eventsource', () => {
  const REFUSED = [[QUICK, send(5), reset()], [answer(404)], THE_REST]

  test('tries everything again, and has then no cursor for what onmessage heard', async () => {
    const { lost, doubled, cursors, targets } = await observe('reconnecting-eventsource', REFUSED)
    expect({ lost, doubled }).toEqual({ lost: 0, doubled: 5 })
    expect(cursors).toEqual([undefined, log.idAt(4), undefined])
    expect(targets[2]).toBe('/events')
  })

  test('puts the cursor of what listeners heard into the query', async () => {
    await using server = await FaultServer.start({ log: LOG, script: REFUSED })
    const source = open('reconnecting-eventsource', server.url)
    source.addEventListener('message', () => {})
    await expect.poll(() => server.requests.length, { timeout: 10_000 }).toBe(3)
    source.close()
    expect(server.requests[2]?.url).toBe(`/events?lastEventId=${log.idAt(4)}`)
  })
})

describe('launchdarkly-eventsource', () => {
  const fixture = (name: string) =>
    readFileSync(new URL(`../../fixtures/self-signed.${name}.pem`, import.meta.url), 'utf8')

  test('takes any certificate by default, and EventSource does not', async () => {
    const tls = { key: fixture('key'), cert: fixture('cert') }
    await using server = await FaultServer.start({ log: LOG, script: [THE_REST, THE_REST], tls })
    const theirs = open('launchdarkly-eventsource', server.url)
    await expect.poll(() => theirs.readyState).toBe(1)
    theirs.close()
    const ours = new EventSource(server.url)
    const code = await new Promise(resolve => {
      ours.onerror = ({ error }) => resolve(error?.code)
    })
    expect(code).toBe('ERR_SSE_CERTIFICATE')
    expect(ours.readyState).toBe(2)
  })

  test('throws an error that nobody listens for, and EventSource does not', () => {
    const url = JSON.stringify('http://127.0.0.1:1/')
    expect(outcome(`import lib from 'launchdarkly-eventsource'; new lib.EventSource(${url})`)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Unhandled error'),
    })
  })
})

test('a process that only waits for eventsource to reconnect ends with status 0', async () => {
  const { status, stderr } = outcome(
    `import { EventSource } from 'eventsource'; new EventSource('http://127.0.0.1:1/')`,
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

describe('@microsoft/fetch-event-source on Node', () => {
  const on = (options: string) =>
    `import { fetchEventSource } from '@microsoft/fetch-event-source'
     await fetchEventSource('http://127.0.0.1:1/', { fetch, ${options} }).catch(error => console.error(error.message))`

  test('needs a document, unless it is told to stay open when hidden', () => {
    expect(outcome(on('')).stderr).toContain('document is not defined')
  })

  test('needs it even then, as soon as a dial fails', () => {
    expect(outcome(on('openWhenHidden: true')).stderr).toContain('document is not defined')
  })
})

/** A module that is run in a process of its own, beside the libraries. */
function outcome(code: string): { status: number | null; stderr: string } {
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd,
    encoding: 'utf8',
    timeout: 10_000,
  })
  return { status, stderr }
}
