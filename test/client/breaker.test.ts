import { describe, expect, test } from 'vitest'
import { SseCircuitOpenError } from '../../src/errors.ts'
import { Breaker } from '../../src/layers/breaker.ts'
import { block, broken, networkError, open, status, World } from './world.ts'

describe('a host name that does not exist', () => {
  test('is reported by SseCircuitOpenError within a minute, by default', async () => {
    const world = new World(() => Promise.reject(networkError('ENOTFOUND')))
    const consumer = world.stream().run()
    await world.pass(60_000)
    expect(consumer.error).toBeInstanceOf(SseCircuitOpenError)
    expect(consumer.error).toMatchObject({ failures: 6, lastEventId: undefined })
    expect((consumer.error as Error).message).toContain('ENOTFOUND')
    expect((consumer.error as SseCircuitOpenError).retryAt).toBeGreaterThan(Date.now() - 60_000)
    expect((consumer.error as SseCircuitOpenError).history.map(({ type }) => type)).toContain('circuit')
    expect(world.dials).toHaveLength(6)
    expect(consumer.stream.state).toBe('closed')
  })

  test("is waited for with onOpen: 'wait'", async () => {
    const world = new World(() => Promise.reject(networkError('ENOTFOUND')))
    const consumer = world.stream({ breaker: { onOpen: 'wait' } }).run()
    await world.pass(600_000)
    expect([consumer.over, consumer.stream.state]).toEqual([false, 'waiting'])
  })

  test('is given up after maxAttempts, with the last error', async () => {
    const world = new World(() => Promise.reject(networkError('ENOTFOUND')))
    const consumer = world.stream({ backoff: { maxAttempts: 3 } }).run()
    await world.pass(60_000)
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_NETWORK' })
    expect(world.dials).toHaveLength(3)
  })
})

describe("onOpen: 'throw'", () => {
  test('ends also a stream that was open, and says where to resume', async () => {
    const world = new World([() => broken(block(41)), () => status(503)])
    const consumer = world.stream({ breaker: { onOpen: 'throw' } }).run()
    await world.pass(60_000)
    expect(consumer.error).toBeInstanceOf(SseCircuitOpenError)
    expect(consumer.error).toMatchObject({ lastEventId: '41', failures: 6 })
  })
})

describe('a shared breaker', () => {
  test('spares the others the dial: fifty streams meet a dead service with a handful of requests', async () => {
    const world = new World(() => status(503))
    const breaker = new Breaker({ onOpen: 'wait' })
    for (let stream = 0; stream < 50; stream++) world.stream({ breaker }).run()
    await world.pass(10 * 60_000)
    // Fifty first dials were under way before anything was known.
    expect(world.dials.length - 50).toBeLessThanOrEqual(10)
  })

  test('lets its waiters leave spread over the longest backoff delay, not in one instant', async () => {
    let up = false
    const world = new World(dial => (up ? open(block(dial.nr)) : status(503)))
    const breaker = new Breaker({ onOpen: 'wait' })
    for (let stream = 0; stream < 50; stream++) world.stream({ breaker }).run()
    await world.pass(20_000)
    up = true
    const before = world.dials.length
    await world.pass(120_000)
    const after = world.dials.slice(before).map(({ at }) => at)
    expect(after).toHaveLength(50)
    const [first, second] = after as [number, number]
    expect(second - first).toBeLessThanOrEqual(16_000)
    expect((after.at(-1) ?? 0) - second).toBeGreaterThan(8_000)
    expect((after.at(-1) ?? 0) - first).toBeLessThanOrEqual(16_100)
  })

  test('has its probe slot freed by a user who closes the prober', async () => {
    let hang = false
    const world = new World(() => (hang ? new Promise<Response>(() => {}) : status(503)))
    const breaker = new Breaker({ onOpen: 'wait', threshold: 2 })
    const [one, other] = [world.stream({ breaker }).run(), world.stream({ breaker }).run()]
    await world.pass(1_000)
    expect(breaker.state).toBe('open')
    hang = true
    await world.pass(38_000)
    expect(breaker.state).toBe('half-open')
    const before = world.dials.length
    const prober = one.stream.state === 'connecting' ? one : other
    await prober.stream.close()
    await world.settle()
    expect(world.dials.length).toBe(before + 1)
  })

  test('throws at once for a new stream while it is open, before anything is dialled', async () => {
    const world = new World(() => status(503))
    const breaker = new Breaker({ threshold: 1 })
    world.stream({ breaker }).run()
    await world.pass(100)
    const second = world.stream({ breaker, resume: { lastEventId: '5' } }).run()
    await world.settle()
    expect(second.error).toMatchObject({ code: 'ERR_SSE_CIRCUIT_OPEN', failures: 1, lastEventId: '5' })
    expect(world.dials).toHaveLength(1)
  })
})
