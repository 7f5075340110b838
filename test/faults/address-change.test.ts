import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { ResilientSse } from 'resilient-sse'
import { FaultServer, follow, send, silence } from 'resilient-sse/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectDials, Witness } from './support.ts'

describe('an address change', () => {
  const networkInterfaces = os.networkInterfaces
  afterEach(() => {
    vi.useRealTimers()
    os.networkInterfaces = networkInterfaces
    syncBuiltinESMExports()
  })

  /** The sockets are real, the clock of the watchdog is not: seconds of silence pass in no time. */
  const stopTheClock = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })

  test('a path that died is probed after 10 s of silence and given up after 13 s, by default', async () => {
    await using server = await FaultServer.start({ log: { count: 2 }, script: [[send(1), silence()]] })
    stopTheClock()
    const witness = new Witness()
    const probes: { at: number; signal: AbortSignal }[] = []
    const stream = new ResilientSse(server.url, {
      backoff: { baseMs: 20 },
      heartbeat: { probe: { send: signal => probes.push({ at: performance.now(), signal }) } },
      onLifecycle: witness.onLifecycle,
    })
    const iterator = stream[Symbol.asyncIterator]()
    expect((await iterator.next()).value?.id).toBe(server.log.idAt(0))
    const silentSince = performance.now()
    const next = iterator.next()

    await vi.advanceTimersByTimeAsync(9_600)
    expect(witness.of('stall')).toEqual([])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(witness.of('stall')).toMatchObject([{ phase: 'probe' }])
    expect(probes).toHaveLength(1)
    expect((probes[0]?.at ?? 0) - silentSince).toBeGreaterThanOrEqual(10_000)
    expect(probes[0]?.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(server.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1_400)
    expect((await next).value?.id).toBe(server.log.idAt(1))

    const [, dead] = witness.of('stall')
    expect(dead?.phase).toBe('dead')
    expect(dead?.silentMs).toBeGreaterThanOrEqual(13_000)
    expect(dead?.silentMs).toBeLessThan(13_700)
    expect(probes[0]?.signal.aborted).toBe(true)
    expectDials(server.requests, [undefined, server.log.idAt(0)])
    await iterator.return?.()
  })

  test('a server that answers the probe is left alone', async () => {
    await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [follow()] })
    stopTheClock()
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      heartbeat: { probe: { send: () => server.push({ id: 'pong', data: 'pong' }) } },
      onLifecycle: witness.onLifecycle,
    })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const next = iterator.next()
    await vi.advanceTimersByTimeAsync(10_600)
    expect((await next).value?.id).toBe('pong')
    expect(witness.of('stall')).toMatchObject([{ phase: 'probe' }])
    expect(witness.of('drop')).toEqual([])
    expectDials(server.requests, [undefined])
    await iterator.return?.()
  })

  test('an own address that is gone in two looks 2 s apart shrinks the patience to 5 s', async () => {
    const addresses = (...list: string[]) => {
      os.networkInterfaces = () => ({ eth0: list.map(address => ({ address })) }) as never
      syncBuiltinESMExports()
    }
    addresses('192.0.2.7', '192.0.2.8')
    await using server = await FaultServer.start({ log: { count: 2 }, script: [[send(1), silence()]] })
    stopTheClock()
    const witness = new Witness()
    const stream = new ResilientSse(server.url, { backoff: { baseMs: 20 }, onLifecycle: witness.onLifecycle })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const next = iterator.next()
    await vi.advanceTimersByTimeAsync(20_000)
    expect(witness.of('stall')).toEqual([])

    addresses('192.0.2.8')
    await vi.advanceTimersByTimeAsync(6_100)
    expect(witness.of('stall')).toMatchObject([{ phase: 'hint' }])
    await vi.advanceTimersByTimeAsync(6_100)
    expect((await next).value?.id).toBe(server.log.idAt(1))
    expect(witness.of('stall')).toMatchObject([{ phase: 'hint' }, { phase: 'dead' }])
    expectDials(server.requests, [undefined, server.log.idAt(0)])
    await iterator.return?.()
  })
})
