import { ResilientSse } from 'resilient-sse'
import { FaultServer, heartbeats, rest, send, stay } from 'resilient-sse/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { builtTesting, expectDials, FAST, sleep, take, until, Witness } from './support.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe('a slow consumer', () => {
  test('of 3 s an event with a watchdog of 1 s and full socket buffers trips nothing, and the server sees its writes blocked', async () => {
    await using server = await FaultServer.spawn({
      modulePath: builtTesting(),
      log: { count: 1_000, bytes: 100_000 },
    })
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      heartbeat: { timeoutMs: 1_000 },
      onLifecycle: witness.onLifecycle,
    })
    let events = 0
    let blockedMs = 0
    for await (const { data } of stream) {
      expect(data).toBe(server.log.at(events).data)
      if (++events <= 2) {
        await sleep(3_000)
        const [request] = await server.requests()
        expect(request?.closedAt).toBeUndefined()
        expect((request?.writeBlockedMs ?? 0) - blockedMs, 'milliseconds blocked of 3,000').toBeGreaterThan(
          1_500,
        )
        // A bounded share of the 100 MB has left the server.
        expect(request?.bytesWritten).toBeLessThan(30_000_000)
        blockedMs = request?.writeBlockedMs ?? 0
      }
      if (events === 200) break
    }
    expect(witness.types).toEqual(['dial', 'open', 'close'])
    expect(stream.stats().heartbeat.deaths).toBe(0)
    expectDials(await server.requests(), [undefined])
  })

  test('of batches() is one, too', async () => {
    await using server = await FaultServer.spawn({
      modulePath: builtTesting(),
      log: { count: 500, bytes: 100_000 },
    })
    const stream = new ResilientSse(server.url, { heartbeat: { timeoutMs: 200 } })
    let events = 0
    for await (const batch of stream.batches()) {
      if (events === 0) await sleep(800)
      events += batch.length
      if (events === 500) break
    }
    const [request] = await server.requests()
    expect(request?.writeBlockedMs).toBeGreaterThan(300)
    expect(stream.stats().heartbeat.deaths).toBe(0)
    expectDials(await server.requests(), [undefined])
  })

  test('that holds the event loop for 4 s, with a watchdog of 1 s and heartbeats, trips nothing', async () => {
    await using server = await FaultServer.spawn({
      modulePath: builtTesting(),
      log: { count: 2 },
      otherwise: [heartbeats({ everyMs: 200 }), send(1), { do: 'wait', ms: 4_500 }, send(1), stay()],
    })
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      heartbeat: { timeoutMs: 1_000 },
      onLifecycle: witness.onLifecycle,
    })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    // The read is pending while the loop is held: this is the case that a watchdog gets wrong.
    const next = iterator.next()
    await sleep(100)
    for (const end = performance.now() + 4_000; performance.now() < end; );
    expect((await next).value?.id).toBe(server.log.idAt(1))
    expect(witness.of('stall').filter(({ phase }) => phase === 'dead')).toEqual([])
    expect(witness.of('drop')).toEqual([])
    await iterator.return?.()
    expectDials(await server.requests(), [undefined])
  })
})

test.each([
  ['forwards', 3_600_000],
  ['backwards', -3_600_000],
])('a clock that is set an hour %s trips nothing', async (_, stepMs) => {
  await using server = await FaultServer.start({
    log: { count: 2 },
    otherwise: [heartbeats({ everyMs: 50 }), send(1), { do: 'wait', ms: 600 }, send(1), stay()],
  })
  const witness = new Witness()
  const stream = new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle })
  const iterator = stream[Symbol.asyncIterator]()
  await iterator.next()
  const next = iterator.next()
  await sleep(100)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + stepMs })
  expect((await next).value?.id).toBe(server.log.idAt(1))
  expect(witness.types).toEqual(['dial', 'open'])
  await iterator.return?.()
  expectDials(server.requests, [undefined])
})

test('a consumer that reads nothing after the first event holds the server back, and close() frees it', async () => {
  await using server = await FaultServer.start({
    log: { count: 2_000, bytes: 50_000 },
    otherwise: [rest(), stay()],
  })
  const stream = new ResilientSse(server.url, FAST)
  const iterator = stream[Symbol.asyncIterator]()
  await iterator.next()
  await until(() => (server.requests[0]?.writeBlockedMs ?? 0) > 500, 'its writes are blocked')
  const written = server.requests[0]?.bytesWritten
  await sleep(200)
  expect(server.requests[0]?.bytesWritten).toBe(written)
  expect(stream.stats().heartbeat.deaths).toBe(0)
  await stream.close()
  await until(() => server.openSockets === 0, 'the socket is free', 1_000)
  expect(await take({ [Symbol.asyncIterator]: () => iterator }, 5)).toEqual([])
  expectDials(server.requests, [undefined])
})
