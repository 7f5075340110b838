import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { machine } from '../../src/machine.ts'
import { block, broken, networkError, open, status, World } from './world.ts'

/** What a browser tells with `online`. */
let wake: () => void
let listeners: Set<() => void>

beforeEach(() => {
  listeners = new Set()
  wake = () => {
    for (const listener of listeners) listener()
  }
  vi.spyOn(machine, 'onWake').mockImplementation(listener => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

const SLOW = { backoff: { baseMs: 500, factor: 10, maxMs: 3_600_000, jitter: 0 } } as const

describe('when the network comes back', () => {
  test('a wait after a network failure ends within the base delay', async () => {
    let up = false
    const world = new World(() => (up ? open(block(1)) : Promise.reject(networkError('ENETUNREACH'))))
    const consumer = world.stream(SLOW).run()
    await world.pass(6_000)
    expect(world.dials).toHaveLength(3)
    up = true
    wake()
    await world.pass(500)
    expect(world.dials).toHaveLength(4)
    expect(consumer.data).toEqual(['data 1'])
  })

  test('an open breaker is passed, too', async () => {
    let up = false
    const world = new World(() => (up ? open(block(1)) : Promise.reject(networkError('ENETUNREACH'))))
    const consumer = world.stream({ breaker: { threshold: 2, cooldownMs: 300_000, onOpen: 'wait' } }).run()
    await world.pass(10_000)
    expect(world.dials).toHaveLength(2)
    up = true
    wake()
    await world.pass(500)
    expect(consumer.data).toEqual(['data 1'])
  })

  test('the dials of many streams are spread over the base delay', async () => {
    let up = false
    const world = new World(() => (up ? open(block(1)) : Promise.reject(networkError('ENETUNREACH'))))
    for (let stream = 0; stream < 50; stream++) world.stream(SLOW).run()
    await world.pass(6_000)
    const before = world.dials.length
    up = true
    wake()
    await world.pass(500)
    const times = world.dials.slice(before).map(({ at }) => at)
    expect(times).toHaveLength(50)
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(250)
  })

  test('a server that answered is not hurried', async () => {
    const world = new World(() => status(503))
    world.stream(SLOW).run()
    await world.pass(6_000)
    wake()
    await world.pass(10_000)
    expect(world.dials).toHaveLength(3)
  })

  test("the server's retry: is respected", async () => {
    const world = new World(({ nr }) =>
      nr === 1 ? broken(`retry: 20000\n${block(1)}`) : Promise.reject(networkError('ENETUNREACH')),
    )
    world.stream(SLOW).run()
    // Dialled at 0, 20 and 40 s; the next one would be at 90 s.
    await world.pass(50_000)
    wake()
    await world.pass(19_900)
    expect(world.dials).toHaveLength(3)
    await world.pass(700)
    expect(world.dials).toHaveLength(4)
  })

  test('nobody listens any more when the stream is open or closed', async () => {
    let up = false
    const world = new World(() => (up ? open(block(1)) : Promise.reject(networkError('ENETUNREACH'))))
    const consumer = world.stream({ ...SLOW, heartbeat: false }).run()
    await world.pass(6_000)
    expect(listeners.size).toBe(1)
    up = true
    wake()
    await world.pass(500)
    expect(listeners.size).toBe(0)
    await consumer.stream.close()
    expect(listeners.size).toBe(0)
  })
})
