import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { DialAgent } from '../../src/dial-agent.ts'
import type { SseError } from '../../src/errors.ts'
import { TCP_DEFAULTS } from '../../src/layers/tcp.ts'
import { block, blocks, broken, type Consumer, expectNothingLeft, open, status, World } from './world.ts'

describe('close()', () => {
  const states: [name: string, answers: (() => Response | Promise<Response>)[], ms: number, state: string][] =
    [
      ['while dialling', [() => new Promise<Response>(() => {})], 10, 'connecting'],
      ['while reading', [() => open(block(1))], 10, 'open'],
      ['during a backoff', [() => status(503, { 'retry-after': '60' })], 10, 'waiting'],
      ['while the breaker is open', [() => broken(block(1)), () => status(503)], 60_000, 'waiting'],
    ]

  test.each(states)(
    '%s ends the loop at once, without an error, and nothing follows',
    async (_, answers, ms, state) => {
      const world = new World(answers)
      const consumer = world.stream().run()
      await world.pass(ms)
      expect(consumer.stream.state).toBe(state)
      const dials = world.dials.length
      await consumer.stream.close()
      await world.settle()
      expect([consumer.over, consumer.error, consumer.stream.state]).toEqual([true, undefined, 'closed'])
      expect(world.dials.at(-1)?.signal.aborted).toBe(true)
      expect(consumer.tellings('close')).toMatchObject([{ reason: 'closed' }])
      expectNothingLeft()
      await world.pass(3_600_000)
      expect(world.dials).toHaveLength(dials)
    },
  )

  test.each(states)('%s may come from the signal, whose reason the loop throws', async (_, answers, ms) => {
    const world = new World(answers)
    const controller = new AbortController()
    const consumer = world.stream({ signal: controller.signal }).run()
    await world.pass(ms)
    const reason = { mine: true }
    controller.abort(reason)
    await world.settle()
    expect([consumer.over, consumer.stream.state]).toEqual([true, 'closed'])
    expect(consumer.error).toBe(reason)
    expect(consumer.tellings('close')).toMatchObject([{ reason: 'aborted', error: reason }])
    expectNothingLeft()
  })

  test.each(states)(
    '%s may come from return(), which does not queue behind a pending next()',
    async (_, answers, ms) => {
      const world = new World(answers)
      const { stream, told } = world.stream()
      const iterator = stream[Symbol.asyncIterator]()
      const asked = [iterator.next(), iterator.next()]
      await world.pass(ms)
      const pending = asked[stream.stats().events]
      expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
      expect(await pending).toEqual({ done: true, value: undefined })
      expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
      expect(await iterator.next()).toEqual({ done: true, value: undefined })
      expect(told.filter(({ type }) => type === 'close')).toMatchObject([{ reason: 'closed' }])
      expectNothingLeft()
    },
  )

  test.each([
    ['closed', undefined],
    ['aborted', 'mine'],
  ] as const)(
    'at whatever moment an answer and its events come, the loop that is %s is told that alone',
    async (end, error) => {
      for (let moment = 0; moment < 60; moment++) {
        const controller = new AbortController()
        const world = new World(() => {
          void endAfter(moment)
          return open(block(1))
        })
        const consumer = world.stream({ signal: controller.signal })
        const endAfter = async (microtasks: number) => {
          for (let passed = 0; passed < microtasks; passed++) await undefined
          if (end === 'closed') await consumer.stream.close()
          else controller.abort('mine')
        }
        consumer.run()
        await world.settle()
        expect([consumer.over, consumer.error, consumer.stream.state]).toEqual([true, error, 'closed'])
        expect(world.dials[0]?.signal.aborted).toBe(true)
        expect(consumer.told.at(-1)).toMatchObject({ type: 'close', reason: end })
        expectNothingLeft()
      }
    },
  )

  test('at whatever moment an answer comes leaves batches() without an empty one', async () => {
    for (let moment = 0; moment < 60; moment++) {
      const world = new World(() => {
        void closeAfter(moment)
        return open(block(1))
      })
      const { stream } = world.stream()
      const closeAfter = async (microtasks: number) => {
        for (let passed = 0; passed < microtasks; passed++) await undefined
        await stream.close()
      }
      const asked = stream.batches().next()
      await world.settle()
      const { done, value } = await asked
      expect([done, value?.length]).toEqual(done ? [true, undefined] : [false, 1])
    }
  })

  test('tells a function that is at work for a dial why that is given up', async () => {
    let signal: AbortSignal | undefined
    const world = new World(() => open())
    const headers = (context: { signal: AbortSignal }) => {
      signal = context.signal
      return new Promise<HeadersInit>(() => {})
    }
    const consumer = world.stream({ headers }).run()
    await world.settle()
    await consumer.stream.close()
    expect(signal?.reason).toMatchObject({ code: 'ERR_SSE_CLOSED', message: 'The stream is over' })
  })

  test('before the first pull dials nothing, and a loop after it is ERR_SSE_CLOSED', async () => {
    const world = new World(() => open())
    const { stream } = world.stream()
    await stream.close()
    expect(() => stream[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'ERR_SSE_CLOSED' }))
    expect(() => stream.batches()).toThrow(expect.objectContaining({ code: 'ERR_SSE_CLOSED' }))
    expect(world.dials).toHaveLength(0)
    expectNothingLeft()
  })

  test('twice is once', async () => {
    const world = new World(() => open())
    const consumer = world.stream().run()
    await world.settle()
    await Promise.all([consumer.stream.close(), consumer.stream.close()])
    await consumer.stream.close()
    expect(consumer.tellings('close')).toHaveLength(1)
  })

  test('from inside a listener wins over the dial that would follow', async () => {
    for (const type of ['drop', 'wait', 'dial', 'open'] as const) {
      const world = new World(() => broken(block(1)))
      const consumer: Consumer = world.stream({
        onLifecycle: event => {
          if (event.type === type) void consumer.stream.close()
        },
      })
      consumer.run()
      await world.pass(60_000)
      expect([consumer.over, consumer.error]).toEqual([true, undefined])
      expect(world.dials.length).toBeLessThanOrEqual(1)
      expectNothingLeft()
    }
  })

  test('drops what was read and not yet handed out', async () => {
    const world = new World(() => open(blocks(1, 5)))
    const { stream } = world.stream()
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    await stream.close()
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    expect(stream.lastEventId).toBe('1')
  })

  test('happens by await using', async () => {
    const world = new World(() => open(block(1)))
    const consumer = world.stream()
    {
      await using stream = consumer.stream
      await stream[Symbol.asyncIterator]().next()
    }
    expect(consumer.stream.state).toBe('closed')
    expect(world.dials[0]?.signal.aborted).toBe(true)
  })
})

describe('an end that somebody else has to make', () => {
  test('throws the reason of the signal once; then the loop is done', async () => {
    const world = new World(() => open())
    const controller = new AbortController()
    const iterator = world.stream({ signal: controller.signal }).stream[Symbol.asyncIterator]()
    const asked = iterator.next()
    await world.settle()
    controller.abort('mine')
    await expect(asked).rejects.toBe('mine')
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  })

  test('is not held for ever by a store that never answers', async () => {
    const world = new World(() => open(blocks(1, 3)))
    const store = { load: () => undefined, save: () => new Promise<void>(() => {}) }
    const consumer = world.stream({ resume: { store } }).run()
    await world.settle()
    const closed = consumer.stream.close().then(
      () => 'closed',
      (error: SseError) => `${error.code}: ${error.message}`,
    )
    await world.pass(10_000)
    expect(await closed).toBe('ERR_SSE_STORE: The store did not save within 10 s')
    expectNothingLeft()
  })

  test('by data that is not JSON has its history, and is told as an error', async () => {
    const world = new World(() => open(block(1, '{}') + block(2, '{')))
    const { stream, told } = world.stream()
    const events = stream.json()
    expect(await events.next()).toMatchObject({ value: { data: {}, id: '1' } })
    const error = await events.next().catch((thrown: SseError) => thrown)
    expect(error).toMatchObject({ code: 'ERR_SSE_JSON' })
    expect((error as SseError).history.map(({ type }) => type)).toEqual(['dial', 'open'])
    expect(told.at(-1)).toMatchObject({ type: 'close', reason: 'error', error })
  })

  test('by a proxy of the environment that is no URL does not repeat it: it may hold a password', () => {
    vi.stubEnv('HTTP_PROXY', 'http://user:s3cret@:bad:/')
    onTestFinished(() => void vi.unstubAllEnvs())
    const dial = () => new DialAgent({ ...TCP_DEFAULTS, proxy: 'env' }).for('http://events.test')
    expect(dial).toThrow(
      expect.objectContaining({
        code: 'ERR_SSE_REQUEST',
        message: 'tcp.proxy: HTTP_PROXY or HTTPS_PROXY is not a URL',
      }),
    )
  })
})
