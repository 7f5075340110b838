import { Breaker, type LifecycleEvent } from 'resilient-sse'
import { EventSource, type EventSourceInit } from 'resilient-sse/eventsource'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inOurSpelling } from '../../src/adapters/eventsource-spellings.ts'
import { BACKOFF_DEFAULTS, jitteredDelay } from '../../src/layers/backoff.ts'
import { resolveOptions } from '../../src/options.ts'
import { until } from '../faults/support.ts'
import { finite, serve, status, stream } from './server.ts'

const NOWHERE = 'http://127.0.0.1:1/'

function open(url: string, init: EventSourceInit): EventSource {
  const source = new EventSource(url, init)
  onTestFinished(() => source.close())
  return source
}

/** What the core makes of options of theirs. */
function resolved(init: EventSourceInit) {
  return resolveOptions(NOWHERE, inOurSpelling(init).options)
}

/** The least and the most that this first delay can be. */
function range(init: EventSourceInit, failures = 1): number[] {
  const { backoff } = resolved(init)
  if (!backoff) throw new Error('there is no backoff')
  const input = { failures, floorMs: 0, previousMs: 0 }
  return [0, 1].map(random => Math.round(jitteredDelay(input, backoff, () => random)))
}

test('maxBufferSize of eventsource is the largest event', () => {
  expect(resolved({ maxBufferSize: 5_000 })).toMatchObject({ maxEventChars: 5_000 })
})

describe('options of event-source-polyfill', () => {
  test.each([
    [45_000, 45_000],
    ['45000', 45_000],
    [0, 1_000],
    [999, 1_000],
    [86_400_000, 18_000_000],
  ])('heartbeatTimeout %j is %i ms of silence, as there', (heartbeatTimeout, timeoutMs) => {
    expect(resolved({ heartbeatTimeout }).heartbeat).toMatchObject({ timeoutMs })
  })

  test('lastEventIdQueryParameterName puts the cursor into the URL of a reconnect', async () => {
    await using server = await serve(finite('retry: 101\nid: a b\ndata: x\n\n'), stream(''))
    open(`${server.url}?topic=1`, { lastEventIdQueryParameterName: 'Last-Event-Id' })
    await until(() => server.requests.length === 2, 'it reconnected')
    expect(server.requests.map(({ url }) => url)).toEqual(['/?topic=1', '/?topic=1&Last-Event-Id=a+b'])
  })
})

describe('options of launchdarkly-eventsource', () => {
  test('initialRetryDelayMillis and maxBackoffMillis are the first and the longest delay', () => {
    const init = { initialRetryDelayMillis: 2_000, maxBackoffMillis: 30_000, jitterRatio: 0 }
    expect([1, 2, 3, 9].map(failures => range(init, failures)[1])).toEqual([2_000, 4_000, 8_000, 30_000])
  })

  test('maxBackoffMillis: 0 leaves every delay at the first one', () => {
    const init = { initialRetryDelayMillis: 2_000, maxBackoffMillis: 0, jitterRatio: 0 }
    expect([1, 2, 9].map(failures => range(init, failures)[1])).toEqual([2_000, 2_000, 2_000])
  })

  test('initialRetryDelayMillis alone may be longer than the longest delay by default', () => {
    expect(range({ initialRetryDelayMillis: 60_000, jitterRatio: 0 })).toEqual([60_000, 60_000])
  })

  test.each([
    [0, 10_000, 10_000],
    [0.2, 8_000, 10_000],
    [0.5, 5_000, 10_000],
    [1, 0, 10_000],
  ])('jitterRatio: %d takes up to that part away, and adds nothing', (jitterRatio, least, most) => {
    expect(range({ initialRetryDelayMillis: 10_000, jitterRatio })).toEqual([least, most])
    expect(range({ initialRetryDelayMillis: 10_000, maxBackoffMillis: 10_000, jitterRatio }, 9)).toEqual([
      least,
      most,
    ])
  })

  test('jitterRatio alone is of the delays by default', () => {
    const { baseMs, maxMs } = BACKOFF_DEFAULTS
    expect(range({ jitterRatio: 0.5 })).toEqual([baseMs / 2, baseMs])
    expect(range({ jitterRatio: 0.5 }, 99)).toEqual([maxMs / 2, maxMs])
  })

  test('readTimeoutMillis is the silence after which a connection is given up, and 0 is never', () => {
    expect(resolved({ readTimeoutMillis: 30_000 }).heartbeat).toMatchObject({ timeoutMs: 30_000 })
    expect(resolved({ readTimeoutMillis: 0 }).heartbeat).toMatchObject({ timeoutMs: 0 })
  })

  test('retryResetIntervalMillis is the age at which a connection counts as healthy', () => {
    expect(resolved({ retryResetIntervalMillis: 60_000 }).backoff).toMatchObject({ resetAfterMs: 60_000 })
  })

  test('errorFilter is shown the error event, and its answer is final, whatever kind of truth it is', async () => {
    await using server = await serve(status(404), status(418), status(503))
    const seen: unknown[] = []
    const source = open(server.url, {
      initialRetryDelayMillis: 1,
      errorFilter: ({ type, status: is, message }) => {
        seen.push([type, is, message.includes('answered')])
        return (is === 503 ? undefined : 'yes') as never
      },
    })
    await until(() => source.readyState === 2, 'the filter said no')
    expect(seen).toEqual([
      ['error', 404, true],
      ['error', 418, true],
      ['error', 503, true],
    ])
  })

  test('https, rejectUnauthorized and proxy configure the connection', () => {
    expect(resolved({ https: { rejectUnauthorized: false, ca: 'PEM' } }).tcp).toMatchObject({
      connect: { rejectUnauthorized: false, ca: 'PEM' },
    })
    expect(resolved({ rejectUnauthorized: false, tcp: { keepAliveDelayMs: 5_000 } }).tcp).toMatchObject({
      connect: { rejectUnauthorized: false },
      keepAliveDelayMs: 5_000,
    })
    expect(resolved({ proxy: 'http://proxy.test:3128' }).tcp).toMatchObject({
      proxy: 'http://proxy.test:3128',
    })
    expect(resolved({ proxy: '' }).tcp).not.toHaveProperty('proxy')
  })

  test('a Last-Event-ID among the headers is where the stream starts, and the cursor takes over', async () => {
    await using server = await serve(finite('retry: 101\nid: 8\ndata: x\n\n'), stream(''))
    open(server.url, { headers: { 'Last-Event-ID': '7' } })
    await until(() => server.requests.length === 2, 'it reconnected')
    expect(server.requests.map(({ headers }) => headers['last-event-id'])).toEqual(['7', '8'])
  })
})

describe('a custom fetch', () => {
  test('that spreads its headers, as the README of eventsource has it, resumes', async () => {
    await using server = await serve(finite('retry: 101\nid: 7\ndata: x\n\n'), stream(''))
    open(server.url, {
      fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, Authorization: 'mine' } }),
    })
    await until(() => server.requests.length === 2, 'it reconnected')
    expect(server.requests.map(({ headers }) => [headers.authorization, headers['last-event-id']])).toEqual([
      ['mine', undefined],
      ['mine', '7'],
    ])
    expect(server.requests[1]?.headers).toMatchObject({ accept: 'text/event-stream' })
  })

  test('that throws, or gives what is no response, ends the source with an error that says so', async () => {
    const wrong: EventSourceInit['fetch'][] = [
      () => {
        throw new RangeError('mine')
      },
      async () => ({}) as never,
    ]
    const sources = wrong.map(given => open(NOWHERE, { fetch: given }))
    const told = await Promise.all(
      sources.map(
        source => new Promise<unknown>(resolve => (source.onerror = ({ error }) => resolve(error))),
      ),
    )
    expect(told).toMatchObject([
      { code: 'ERR_SSE_REQUEST', cause: { message: 'mine' } },
      { code: 'ERR_SSE_REQUEST' },
    ])
    expect(sources.map(({ readyState }) => readyState)).toEqual([2, 2])
  })
})

test('a POST is sent again only when its body is a function', async () => {
  await using server = await serve(finite('retry: 101\ndata: x\n\n'))
  const source = open(server.url, { method: 'POST', body: 'x' })
  await until(() => source.readyState === 2, 'it ended')
  open(server.url, { method: 'POST', body: () => 'y' })
  await until(() => server.requests.length === 3, 'it was sent again')
  expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST'])
})

describe('options of extended-eventsource and reconnecting-eventsource', () => {
  test('retry and max_retry_time are the first and the longest delay', () => {
    expect(resolved({ retry: 3_000, max_retry_time: 9_000 }).backoff).toMatchObject({
      baseMs: 3_000,
      maxMs: 9_000,
    })
  })

  test('disableRetry makes the first failure the last one', async () => {
    await using server = await serve(status(503))
    const source = open(server.url, { disableRetry: true })
    await until(() => source.readyState === 2, 'it gave up')
    expect(server.requests).toHaveLength(1)
  })

  test('disableRetry makes the first end the last one, and the first cut, too', async () => {
    await using ending = await serve(finite('data: x\n\n'))
    await using cutting = await serve(response => {
      stream('data: x\n\n')(response)
      setTimeout(() => response.socket?.destroy(), 20)
    })
    const sources = [ending, cutting].map(({ url }) => open(url, { disableRetry: true }))
    await until(() => sources.every(({ readyState }) => readyState === 2), 'both gave up')
    expect([ending, cutting].map(({ requests }) => requests.length)).toEqual([1, 1])
  })

  test('lastEventId is where the stream starts', async () => {
    await using server = await serve(stream(''))
    open(server.url, { lastEventId: '41' })
    await until(() => server.requests.length === 1, 'it dialled')
    expect(server.requests[0]?.headers['last-event-id']).toBe('41')
  })

  test.each([
    { disableRetry: false },
    { disableLogger: true },
    { omitCredentials: true },
    { proxy: null },
  ] as EventSourceInit[])('%j asks for nothing else than what is so anyway', init => {
    expect(() => open(NOWHERE, init)).not.toThrow()
  })
})

test('different options of one group stand beside each other', () => {
  const { backoff } = resolved({ retry: 5, backoff: { factor: 3 }, retryResetIntervalMillis: 7 })
  expect(backoff).toMatchObject({ baseMs: 5, factor: 3, resetAfterMs: 7 })
})

test('options of the caller are not changed', () => {
  const backoff = Object.freeze({ factor: 3 })
  resolved(Object.freeze({ retry: 5, backoff, jitterRatio: 0.5 }))
  expect(backoff).toEqual({ factor: 3 })
})

describe('the breaker of an EventSource', () => {
  test.each([{}, { breaker: { threshold: 1, onOpen: undefined } }])('waits, with %j', async init => {
    await using server = await serve(status(503))
    const source = open(server.url, { backoff: { baseMs: 1, maxMs: 1 }, ...init })
    const waits: string[] = []
    source.addEventListener('error', () => waits.push('error'))
    await until(() => waits.length >= 1 && server.requests.length >= 1, 'it failed')
    await until(() => waits.length >= ('breaker' in init ? 1 : 6), 'the breaker is open')
    expect(source.readyState).toBe(0)
  })

  test.each([{ onOpen: 'throw', threshold: 1 } as const, new Breaker({ threshold: 1, onOpen: 'throw' })])(
    'gives up when that was asked for',
    async breaker => {
      await using server = await serve(status(503))
      const lifecycle: LifecycleEvent[] = []
      const source = open(server.url, { breaker, onLifecycle: event => lifecycle.push(event) })
      const errors: unknown[] = []
      source.onerror = ({ error }) => errors.push(error?.code)
      await until(() => source.readyState === 2, 'it gave up')
      expect(errors).toEqual(['ERR_SSE_CIRCUIT_OPEN'])
    },
  )
})

describe("conformance: 'whatwg'", () => {
  test('leaves a layer on that is given beside it, and asks isRetryable first', async () => {
    await using server = await serve(status(503), status(502), stream(''))
    const source = open(server.url, {
      conformance: 'whatwg',
      heartbeatTimeout: 1_000,
      backoff: { baseMs: 1 },
      isRetryable: error => ('status' in error && error.status === 503 ? true : undefined),
    })
    await until(() => source.readyState === 2, 'the second status was final')
    expect(server.requests).toHaveLength(2)
  })

  test('an event that is silent for long is no matter', async () => {
    await using server = await serve(stream('data: x\n\n'))
    const source = open(server.url, { conformance: 'whatwg', heartbeat: { timeoutMs: 60 } })
    let errors = 0
    source.onerror = () => errors++
    await until(() => errors > 0, 'layer 2 had its say')
    expect(server.requests.length).toBeGreaterThan(0)
  })
})
