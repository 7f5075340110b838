import { describe, expect, test, vi } from 'vitest'
import { Breaker } from '../../src/layers/breaker.ts'
import type { CursorStore } from '../../src/layers/resume.ts'
import type { LifecycleEvent } from '../../src/lifecycle.ts'
import { machine } from '../../src/machine.ts'
import type { RequestContext, ResilientSseOptions } from '../../src/options.ts'
import { block, broken, type Consumer, open, status, URL_OF_EVENTS, World } from '../client/world.ts'

/** What was told after `close`; saves may be. */
function toldTooLate({ told }: Consumer): string[] {
  const end = told.findIndex(({ type }) => type === 'close')
  expect(end, 'the stream was closed').not.toBe(-1)
  return told
    .slice(end + 1)
    .map(({ type }) => type)
    .filter(type => type !== 'cursor')
}

describe('nothing is told after close', () => {
  /** Every kind of lifecycle event happens in it. */
  const answers = [
    () => broken('data: without an id\n\n'),
    () => broken(block(1) + block(2)),
    () => broken(block(2) + block(1, 'other data') + block(5)),
    () => open(block(6)),
    () => status(503),
  ]
  const kinds = ['dial', 'open', 'drop', 'wait', 'duplicate', 'gap', 'circuit', 'stall', 'cursor'] as const

  test.each(kinds)('by a listener for %s that closes the stream', async kind => {
    const world = new World(answers)
    const consumer = world
      .stream({
        breaker: { threshold: 1, onOpen: 'wait' },
        heartbeat: { timeoutMs: 3_000 },
        resume: { isNext: 'decimal', store: { load: () => undefined, save: () => {} } },
        onLifecycle: ({ type }) => {
          if (type === kind) void consumer.stream.close()
        },
      })
      .run()
    await world.pass(600_000)
    expect(consumer).toMatchObject({ over: true, error: undefined })
    expect(toldTooLate(consumer)).toEqual([])
  })

  test('by a gap at the reconnect whose open event closed it', async () => {
    const world = new World([() => broken('data: a\n\n'), () => open()])
    const consumer = world
      .stream({
        onLifecycle: ({ type }) => {
          if (type === 'open' && world.dials.length === 2) void consumer.stream.close()
        },
      })
      .run()
    await world.pass(5_000)
    expect(toldTooLate(consumer)).toEqual([])
  })

  test('by a shared breaker, when another stream closes this one', async () => {
    const world = new World([() => status(503)])
    const breaker = new Breaker({ threshold: 2, onOpen: 'wait' })
    const onLifecycle = ({ type }: LifecycleEvent) => {
      if (type === 'circuit') void second.stream.close()
    }
    world.stream({ breaker, onLifecycle }).run()
    const second = world.stream({ breaker }).run()
    await world.pass(60_000)
    expect(toldTooLate(second)).toEqual([])
  })

  test.each<keyof ResilientSseOptions>(['isRetryable', 'headers'])('by %s that closes it', async name => {
    const world = new World([() => broken(block(1)), () => open(block(2))])
    const consumer = world
      .stream({
        [name]: () => {
          if (world.dials.length === 1) void consumer.stream.close()
          return undefined
        },
      })
      .run()
    await world.pass(20_000)
    expect(toldTooLate(consumer)).toEqual([])
    expect(world.dials).toHaveLength(1)
  })
})

describe('a url function that answers too late', () => {
  const late = (answers: (() => void)[]) => () =>
    new Promise<string>(resolve => answers.push(() => resolve(URL_OF_EVENTS)))

  test('after close() has no dial told', async () => {
    const world = new World([() => open()])
    const answers: (() => void)[] = []
    const consumer = world.stream({}, late(answers)).run()
    await world.settle()
    await consumer.stream.close()
    answers[0]?.()
    await world.settle()
    expect(toldTooLate(consumer)).toEqual([])
    expect(world.dials).toEqual([])
  })

  test('after openTimeoutMs has no dial told, and the headers function is not asked', async () => {
    const world = new World([() => open()])
    const answers: (() => void)[] = []
    let asked = 0
    const options = {
      openTimeoutMs: 1_000,
      backoff: { baseMs: 5_000, jitter: 0 },
      headers: () => ({ n: `${++asked}` }),
    }
    const consumer = world.stream(options, late(answers)).run()
    await world.pass(1_500)
    answers[0]?.()
    await world.settle()
    expect(consumer.told.map(({ type }) => type)).toEqual(['drop', 'wait'])
    expect(asked).toBe(0)
  })
})

describe('an acknowledgement after the end', () => {
  const options = (log: string[], store: Partial<CursorStore>): ResilientSseOptions => ({
    resume: {
      ack: 'manual',
      store: { load: () => undefined, save: id => void log.push(`save ${id}`), ...store },
    },
  })

  test('does not reach a store that was closed', async () => {
    const log: string[] = []
    const world = new World([() => open(block(1))])
    const { stream } = world.stream(options(log, { close: () => void log.push('close') }))
    const { value } = await stream[Symbol.asyncIterator]().next()
    await stream.close()
    if (value !== undefined) stream.ack(value)
    await world.settle()
    expect(log).toEqual(['close'])
  })

  test('still reaches a store that is not yet closed, or never is', async () => {
    const log: string[] = []
    const world = new World([() => open(block(1) + block(2))])
    const { stream } = world.stream(options(log, {}))
    const events = stream[Symbol.asyncIterator]()
    const first = await events.next()
    const second = await events.next()
    const closing = stream.close()
    if (first.value !== undefined) stream.ack(first.value)
    await closing
    expect(log).toEqual(['save 1'])
    if (second.value !== undefined) stream.ack(second.value)
    await world.settle()
    expect(log).toEqual(['save 1', 'save 2'])
  })
})

test('the signal of a url, headers or body function aborts when the dial is given up, and is all it is told', async () => {
  const world = new World([() => open()])
  const told: RequestContext[] = []
  const headers = (context: RequestContext) => {
    told.push(context)
    return new Promise<HeadersInit>(() => {})
  }
  world.stream({ openTimeoutMs: 1_000, headers }).run()
  await world.pass(900)
  expect(told[0]?.signal.aborted).toBe(false)
  await world.pass(200)
  expect(told[0]?.signal.aborted).toBe(true)
  expect(Object.keys(told[0] ?? {})).toEqual(['attempt', 'lastEventId', 'signal'])
})

describe('a listener that acts', () => {
  test.each(['hint', 'probe'])('on a stall (%s) may close the stream, and no probe is sent', async phase => {
    const world = new World([() => open(block(1))])
    let sent = 0
    const uptime = vi.spyOn(machine, 'uptimeMs')
    const consumer = world
      .stream({
        heartbeat: { probe: { afterMs: phase === 'hint' ? 60_000 : 1_000, send: () => sent++ } },
        onLifecycle: event => {
          if (event.type === 'stall') void consumer.stream.close()
        },
      })
      .run()
    await world.pass(500)
    if (phase === 'hint') uptime.mockReturnValue(1e12)
    await world.pass(5_000)
    expect(consumer.tellings('stall')).toMatchObject([{ phase }])
    expect(consumer.over).toBe(true)
    expect(sent).toBe(0)
  })

  test('on the first comment of a read may close the stream, and is told none of the others', async () => {
    const world = new World([() => open(': a\n: b\n\n')])
    const comments: string[] = []
    const consumer = world
      .stream({
        onComment: comment => {
          comments.push(comment)
          void consumer.stream.close()
        },
      })
      .run()
    await world.settle()
    expect(comments).toEqual(['a'])
  })

  test.each([
    ['retry-after', [() => status(503, { 'retry-after': '60' }), () => open()]],
    ['circuit', [() => broken(block(1)), () => status(503), () => open()]],
  ])('on a wait (%s) may reconnect at once', async (reason, answers) => {
    const world = new World(answers)
    const consumer = world
      .stream({
        breaker: { threshold: 2 },
        onLifecycle: event => {
          if (event.type === 'wait' && event.reason === reason) consumer.stream.reconnect()
        },
      })
      .run()
    await world.pass(5_000)
    expect(consumer.stream.state).toBe('open')
  })
})

describe('a store that fails at the end', () => {
  const failing = {
    load: () => undefined,
    save: () => {
      throw new Error('disk full')
    },
  }
  const cases: [how: string, answers: (() => Response)[], first: object][] = [
    ['204', [() => broken(block(1)), () => status(204)], { code: 'ERR_SSE_STORE' }],
    ['a final error', [() => broken(block(1)), () => status(404)], { code: 'ERR_SSE_HTTP' }],
    ['close()', [() => open(block(1))], { code: 'ERR_SSE_STORE' }],
  ]

  test.each(cases)(
    'is told to the consumer once; then the iterator is done (%s)',
    async (how, answers, first) => {
      const world = new World(answers)
      const { stream } = world.stream({ resume: { store: failing } })
      const events = stream[Symbol.asyncIterator]()
      await events.next()
      const pending = [events.next(), events.next(), events.next()]
      const settled = Promise.allSettled(pending)
      await world.settle()
      if (how === 'close()') await expect(stream.close()).rejects.toMatchObject({ code: 'ERR_SSE_STORE' })
      await world.pass(5_000)
      const done = { status: 'fulfilled', value: { done: true } }
      expect(await settled).toMatchObject([{ status: 'rejected', reason: first }, done, done])
      expect(await events.next()).toMatchObject({ done: true })
    },
  )
})
