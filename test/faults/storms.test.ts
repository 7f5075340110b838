import { ResilientSse } from 'resilient-sse'
import { answer, cut, end, FaultServer, flapping, follow, raw, type Step, send } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { expectDials, FAST, failure, sleep, take, until, Witness } from './support.ts'

describe('a server that opens and dies each time is not stormed', () => {
  test.each<[string, Step[]]>([
    ['a greeting, then a reset', flapping('greeting')],
    ['headers, then a reset', [{ do: 'comment', text: 'hello' }, cut()]],
    ['a priming event with an id, then a FIN', [raw('id: 1\ndata:\n\n'), cut()]],
    ['the same event each time', [raw('id: 1\ndata: x\n\n'), cut()]],
  ])('%s: delays grow and the breaker opens', async (_, script) => {
    await using server = await FaultServer.start({ log: { count: 0 }, otherwise: script })
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      backoff: { baseMs: 20, jitter: 0 },
      onLifecycle: witness.onLifecycle,
    })
    const loop = take(stream, 100)
    await until(() => stream.stats().breaker.state === 'open', 'the breaker is open')
    await sleep(300)
    const delays = witness
      .of('wait')
      .filter(({ reason }) => reason === 'backoff')
      .map(({ delayMs }) => delayMs)
    // Growing from the first, or from the second where the first connection brought something new.
    expect(delays.slice(-4)).toEqual([40, 80, 160, 320])
    expect(server.requests.length).toBeLessThanOrEqual(7)
    const ids = server.requests.map(({ lastEventId }) => lastEventId)
    expect(new Set(ids).size).toBeLessThanOrEqual(2)
    await stream.close()
    await loop
    expectDials(server.requests, ids)
  })

  test.concurrent.each<[string, Step[], boolean]>([
    ['an event that is new each time, then the end', flapping('event'), true],
    ['retry: 0 and an error event, then the end', flapping('error'), false],
    ['retry: 0 and nothing, then the end', [raw('retry: 0\n\n'), end()], false],
    ['an event without an id, then the end', [raw('data: x\n\n'), end()], false],
  ])('%s: at most one dial a second', async (_, script, moves) => {
    await using server = await FaultServer.start({ otherwise: script })
    const stream = new ResilientSse(server.url, FAST)
    const startedAt = performance.now()
    const loop = take(stream, 100)
    await sleep(2_000)
    // A wait is one second and up to as much again.
    await until(() => server.requests.length >= 2, 'it has dialled again', 2_000)
    const seconds = Math.floor((performance.now() - startedAt) / 1_000)
    await stream.close()
    await loop
    expect(server.requests.length).toBeLessThanOrEqual(1 + seconds)
    expectDials(
      server.requests,
      server.requests.map((__, n) => (moves && n > 0 ? server.log.idAt(n - 1) : undefined)),
    )
  })
})

test('clients that lose the same server in one instant come back spread out', async () => {
  await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [follow()] })
  const streams = Array.from({ length: 25 }, () => new ResilientSse(server.url, { backoff: { baseMs: 400 } }))
  const loops = streams.map(stream => take(stream, 2))
  await until(
    () => server.requests.filter(({ eventsWritten }) => eventsWritten > 0).length === 25,
    'all are open',
  )
  await sleep(50)
  server.resetAll()
  await until(() => server.requests.length === 50, 'all are back')
  const times = server.requests.slice(25).map(({ at }) => at)
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(100)
  await Promise.all(streams.map(stream => stream.close()))
  await Promise.all(loops)
  expectDials(server.requests, [...Array(25).fill(undefined), ...Array(25).fill(server.log.idAt(0))])
})

test('baseMs: 0 frees the first retry only', async () => {
  await using server = await FaultServer.start({ otherwise: [answer(503)] })
  const witness = new Witness()
  const stream = new ResilientSse(server.url, {
    backoff: { baseMs: 0, jitter: 0 },
    onLifecycle: witness.onLifecycle,
  })
  const loop = take(stream, 1)
  await sleep(800)
  await stream.close()
  await loop
  expect(witness.of('wait').map(({ delayMs }) => delayMs)).toEqual([0, 500, 1_000])
  expectDials(server.requests, Array(3).fill(undefined))
})

test('maxAttempts ends it with the last error', async () => {
  await using server = await FaultServer.start({ otherwise: [answer(503)] })
  const { error } = await failure(new ResilientSse(server.url, { backoff: { baseMs: 10, maxAttempts: 3 } }))
  expect(error).toMatchObject({ code: 'ERR_SSE_HTTP', status: 503, retryable: true })
  expectDials(server.requests, Array(3).fill(undefined))
})

test('an open breaker lets one probe through, and closes when it brings something new', async () => {
  await using server = await FaultServer.start({
    log: { count: 2 },
    script: [[send(1), cut()], [answer(503)], [answer(503)], [answer(503)]],
  })
  const witness = new Witness()
  const stream = new ResilientSse(server.url, {
    ...FAST,
    breaker: { threshold: 3, cooldownMs: 150 },
    onLifecycle: witness.onLifecycle,
  })
  await take(stream, 2)
  expect(witness.of('circuit').map(({ state }) => state)).toEqual([
    'open',
    'half-open',
    'open',
    'half-open',
    'closed',
  ])
  const gaps = server.requests.map(({ at }, n) => at - (server.requests[n - 1]?.at ?? at))
  // The cooldown, and twice as long after the probe that failed.
  expect(gaps[3]).toBeGreaterThanOrEqual(145)
  expect(gaps[4]).toBeGreaterThanOrEqual(295)
  const id = server.log.idAt(0)
  expectDials(server.requests, [undefined, id, id, id, id])
})

test('after bytes that came late enough, the count begins anew', async () => {
  await using server = await FaultServer.start({
    log: { count: 1 },
    script: [
      [answer(503)],
      [answer(503)],
      [{ do: 'wait', ms: 150 }, { do: 'comment', text: 'alive' }, { do: 'wait', ms: 20 }, cut()],
    ],
  })
  const witness = new Witness()
  const stream = new ResilientSse(server.url, {
    backoff: { baseMs: 20, jitter: 0, resetAfterMs: 100 },
    onLifecycle: witness.onLifecycle,
  })
  await take(stream, 1)
  expect(witness.of('wait').map(({ delayMs, failures }) => [delayMs, failures])).toEqual([
    [20, 1],
    [40, 2],
    [20, 1],
  ])
  expectDials(server.requests, Array(4).fill(undefined))
})
