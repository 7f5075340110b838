import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { publish } from '../src/channels.ts'
import { SseError } from '../src/errors.ts'
import {
  callSafely,
  Lifecycle,
  type LifecycleEvent,
  type LifecycleListener,
  type LifecycleType,
} from '../src/lifecycle.ts'
import { countLifecycle, createStats } from '../src/stats.ts'

const error = new SseError('ERR_SSE_NETWORK', 'x')
const headers = new Headers()

/** One of each type. */
const ONE_OF_EACH: LifecycleEvent[] = [
  { type: 'dial', at: 1, url: 'http://a/', attempt: 1, lastEventId: undefined },
  { type: 'open', at: 1, url: 'http://a/', status: 200, headers, tookMs: 1, resumed: true },
  { type: 'drop', at: 1, reason: 'network', error, opened: true, openMs: 1, events: 1, discardedChars: 0 },
  { type: 'wait', at: 1, delayMs: 250, failures: 1, reason: 'backoff' },
  { type: 'stall', at: 1, phase: 'probe', silentMs: 1 },
  { type: 'gap', at: 1, reason: 'no-cursor', after: undefined, before: undefined },
  { type: 'duplicate', at: 1, count: 3, firstId: '1', lastId: '3' },
  { type: 'circuit', at: 1, state: 'open', failures: 6, retryAt: 5 },
  { type: 'cursor', at: 1, id: '7', error: undefined },
  { type: 'close', at: 1, reason: 'end', error: undefined },
]

const toldTo = (listener: LifecycleListener | undefined) => new Lifecycle(listener, () => {})

describe('a listener', () => {
  test('is told type, moment and body of each event', () => {
    const heard: LifecycleEvent[] = []
    const before = Date.now()
    toldTo(event => heard.push(event)).tell('wait', { delayMs: 5, failures: 2, reason: 'retry' })
    expect(heard).toEqual([
      { type: 'wait', at: expect.any(Number), delayMs: 5, failures: 2, reason: 'retry' },
    ])
    expect(heard[0]?.at).toBeGreaterThanOrEqual(before)
  })

  test('hears of an event after it was counted and published', () => {
    const order: string[] = []
    const lifecycle = new Lifecycle(
      () => order.push('listener'),
      () => order.push('own'),
    )
    lifecycle.tell('close', { reason: 'end', error: undefined })
    expect(order).toEqual(['own', 'listener'])
  })

  test('that throws hurts nobody, and is told the next event all the same', () => {
    const listener = vi.fn(() => {
      throw new Error('mine')
    })
    const lifecycle = toldTo(listener)
    lifecycle.tell('stall', { phase: 'hint', silentMs: 1 })
    lifecycle.tell('close', { reason: 'end', error: undefined })
    expect(listener).toHaveBeenCalledTimes(2)
    expect(lifecycle.history).toHaveLength(2)
  })

  test.each([
    ['a promise', () => Promise.reject(new Error('mine'))],
    ['a promise of another library', () => thenable()],
  ])('that rejects, with %s, leaves no unhandled rejection', async (_, listener) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    toldTo(listener as unknown as LifecycleListener).tell('close', { reason: 'end', error: undefined })
    await turn()
    await turn()
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('may be missing', () => {
    expect(() => toldTo(undefined).tell('close', { reason: 'end', error: undefined })).not.toThrow()
    expect(() => callSafely(undefined, 1)).not.toThrow()
  })
})

/** Rejects like a promise, and is none of this realm. */
function thenable(): PromiseLike<never> {
  const promise = Promise.reject(new Error('mine'))
  const then = promise.then.bind(promise)
  return { then } as PromiseLike<never>
}

describe('diagnostics_channel', () => {
  test.each(ONE_OF_EACH.map(event => [event.type, event] as const))(
    'resilient-sse:%s carries the stream and the event',
    (type, event) => {
      const heard: unknown[] = []
      const listener = (message: unknown) => heard.push(message)
      const stream = {}
      subscribe(`resilient-sse:${type}`, listener)
      publish(stream, event)
      unsubscribe(`resilient-sse:${type}`, listener)
      publish(stream, event)
      expect(heard).toEqual([{ stream, event }])
      expect((heard[0] as { stream: object }).stream).toBe(stream)
    },
  )
})

describe('stats()', () => {
  test('counts each event in the group of its layer, and in no other', () => {
    const changed = (event: LifecycleEvent) => {
      const stats = createStats()
      countLifecycle(stats, event)
      const fresh = createStats()
      return Object.entries(stats).flatMap(([group, counters]) =>
        typeof counters === 'object'
          ? Object.entries(counters)
              .filter(([name, value]) => value !== (fresh[group as 'tcp'] as Record<string, unknown>)[name])
              .map(([name, value]) => `${group}.${name} ${value}`)
          : [],
      )
    }
    expect(Object.fromEntries(ONE_OF_EACH.map(event => [event.type, changed(event)]))).toEqual({
      dial: ['tcp.dials 1'],
      open: ['tcp.opens 1', 'resume.resumed 1'],
      drop: ['tcp.drops 1'],
      wait: ['backoff.waits 1', 'backoff.waitedMs 250'],
      stall: ['heartbeat.probes 1'],
      gap: ['resume.gaps 1'],
      duplicate: ['dedupe.duplicates 3'],
      circuit: ['breaker.opens 1'],
      cursor: ['resume.saves 1'],
      close: [],
    } satisfies Record<LifecycleType, string[]>)
  })

  test('tells failed saves from good ones, deaths from probes, and counts openings of the breaker only', () => {
    const stats = createStats()
    countLifecycle(stats, { type: 'cursor', at: 1, id: '7', error })
    countLifecycle(stats, { type: 'stall', at: 1, phase: 'dead', silentMs: 1 })
    countLifecycle(stats, { type: 'stall', at: 1, phase: 'hint', silentMs: 1 })
    countLifecycle(stats, { type: 'circuit', at: 1, state: 'half-open', failures: 6, retryAt: undefined })
    expect(stats.resume).toMatchObject({ saves: 0, failedSaves: 1 })
    expect(stats.heartbeat).toMatchObject({ probes: 0, deaths: 1 })
    expect(stats.breaker.opens).toBe(0)
  })
})
