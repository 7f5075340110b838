import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SseError, SseGapError } from '../../src/errors.ts'
import type { CursorStore } from '../../src/layers/resume.ts'
import { DialAgent, TCP_DEFAULTS } from '../../src/layers/tcp.ts'
import type { ResilientSseOptions } from '../../src/options.ts'
import { Body, block, broken, type Consumer, ended, open, status, World } from './world.ts'

/** A store that remembers what it was told, as slow and as broken as the test wants. */
class RecordingStore implements CursorStore {
  readonly saves: string[] = []
  inFlight = 0
  mostInFlight = 0
  closed = 0
  stored: string | undefined
  delayMs = 0
  fails: (id: string) => boolean = () => false

  constructor(stored?: string) {
    this.stored = stored
  }

  load(): string | undefined {
    return this.stored
  }

  async save(id: string): Promise<void> {
    this.saves.push(id)
    this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight)
    if (this.delayMs > 0) await new Promise(resolve => setTimeout(resolve, this.delayMs))
    this.inFlight--
    if (this.fails(id)) throw new Error('disk full')
    this.stored = id
  }

  close(): void {
    this.closed++
  }
}

const blocks = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => block(from + index)).join('')

/** No timer may be left once a stream has ended. */
function expectNothingLeft(): void {
  expect(vi.getTimerCount()).toBe(0)
}

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
      const { stream } = world.stream()
      const iterator = stream[Symbol.asyncIterator]()
      const asked = [iterator.next(), iterator.next()]
      await world.pass(ms)
      const pending = asked[stream.stats().events]
      expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
      expect(await pending).toEqual({ done: true, value: undefined })
      expect(await iterator.return?.()).toEqual({ done: true, value: undefined })
      expect(await iterator.next()).toEqual({ done: true, value: undefined })
      expectNothingLeft()
    },
  )

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

describe('the loop', () => {
  test('dials nothing before the first pull', async () => {
    const world = new World(() => open())
    const { stream } = world.stream()
    const iterator = stream[Symbol.asyncIterator]()
    await world.pass(60_000)
    expect([world.dials.length, stream.state]).toEqual([0, 'idle'])
    void iterator.next()
    await world.settle()
    expect([world.dials.length, stream.state]).toEqual([1, 'open'])
  })

  test('may be one only: a second is ERR_SSE_LOCKED, of whatever kind', async () => {
    const world = new World(() => open())
    const { stream } = world.stream()
    stream[Symbol.asyncIterator]()
    for (const second of [
      () => stream[Symbol.asyncIterator](),
      () => stream.batches(),
      () => stream.json(),
    ]) {
      expect(second).toThrow(expect.objectContaining({ code: 'ERR_SSE_LOCKED', retryable: false }))
    }
  })

  test('left by break ends the stream and frees the socket', async () => {
    const world = new World(() => open(blocks(1, 3)))
    const { stream } = world.stream()
    for await (const event of stream) if (event.id === '2') break
    expect([stream.state, stream.lastEventId]).toEqual(['closed', '2'])
    expect(world.dials[0]?.signal.aborted).toBe(true)
    expectNothingLeft()
  })

  test('left by a throw ends the stream, and the throw is not taken for a network error', async () => {
    const world = new World(() => open(blocks(1, 3)))
    const consumer = world.stream().run(() => {
      throw new Error('mine')
    })
    await world.pass(60_000)
    expect((consumer.error as Error).message).toBe('mine')
    expect([consumer.stream.state, world.dials.length]).toEqual(['closed', 1])
  })

  test('may ask several times at once, and is answered in order', async () => {
    const body = new Body()
    const world = new World(() => body.response())
    const iterator = world.stream().stream[Symbol.asyncIterator]()
    const answers = Promise.all(Array.from({ length: 6 }, () => iterator.next()))
    body.send(block(1))
    await world.settle()
    body.send(blocks(2, 4))
    await world.settle()
    body.send(blocks(5, 9))
    await world.settle()
    expect((await answers).map(({ value }) => value?.id)).toEqual(['1', '2', '3', '4', '5', '6'])
    expect((await iterator.next()).value?.id).toBe('7')
  })

  test('that asked several times at once is told the end several times', async () => {
    const world = new World(() => ended(block(1)))
    const iterator = world.stream({ reconnectOnEnd: false }).stream[Symbol.asyncIterator]()
    const answers = await Promise.all([iterator.next(), iterator.next(), iterator.next()])
    expect(answers.map(({ done }) => done)).toEqual([false, true, true])
  })

  test('that is told an error is at its end afterwards', async () => {
    const world = new World(() => status(404))
    const { stream } = world.stream()
    const iterator = stream[Symbol.asyncIterator]()
    await expect(iterator.next()).rejects.toMatchObject({ code: 'ERR_SSE_HTTP' })
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    expect(() => stream[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'ERR_SSE_CLOSED' }))
  })

  test('is told an error with its history', async () => {
    const world = new World(() => status(404))
    const consumer = world.stream().run()
    await world.settle()
    expect((consumer.error as SseError).history.map(({ type }) => type)).toEqual(['dial', 'drop'])
  })

  test('with a signal that was aborted before throws its reason and dials nothing', async () => {
    const world = new World(() => open())
    const consumer = world.stream({ signal: AbortSignal.abort('early') }).run()
    await world.settle()
    expect([consumer.over, consumer.error, world.dials.length]).toEqual([true, 'early', 0])
    expectNothingLeft()
  })

  test('leaves no listener on a signal, after any number of reconnects', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const world = new World(dial => broken(block(dial.nr)))
    const consumer = world.stream({ signal }).run()
    await world.pass(60_000)
    expect(world.dials.length).toBeGreaterThan(15)
    expect(added).toHaveBeenCalledTimes(1)
    await consumer.stream.close()
    expect(removed).toHaveBeenCalledTimes(1)
  })
})

describe('events', () => {
  test('carry an id only when their own block had one; lastEventId is the inherited one', async () => {
    const world = new World(() => open('id: 1\ndata: a\n\ndata: b\n\nevent: e\ndata: c\n\n'))
    const { stream } = world.stream()
    const iterator = stream[Symbol.asyncIterator]()
    expect((await iterator.next()).value).toMatchObject({ data: 'a', id: '1', event: undefined })
    expect((await iterator.next()).value).toMatchObject({ data: 'b', id: undefined })
    expect(stream.lastEventId).toBe('1')
    expect((await iterator.next()).value).toMatchObject({ data: 'c', event: 'e' })
  })

  test('come as arrays from batches(), one per read and never empty', async () => {
    const body = new Body()
    const world = new World(() => body.response())
    const { stream } = world.stream()
    const batches = stream.batches()
    body.send(': comment\n\n').send(blocks(1, 3))
    const first = (await batches.next()).value
    expect(first?.map(({ id }) => id)).toEqual(['1', '2', '3'])
    expect(stream.lastEventId).toBe('3')
    body.send(block(4))
    expect((await batches.next()).value).toHaveLength(1)
  })

  test('that were cut off are discarded, their size is told, and they come again', async () => {
    const world = new World([() => broken(`${block(1)}id: 2\ndata: hal`), () => open(block(2))])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.tellings('drop')[0]).toMatchObject({
      discardedChars: 'id: 2\ndata: hal'.length,
      events: 1,
    })
    expect(world.lastEventIds).toEqual([null, '1'])
    expect(consumer.data).toEqual(['data 1', 'data 2'])
  })

  test('that exceed maxEventChars end the stream after those before them', async () => {
    const world = new World(() => open(`${block(1)}data: ${'x'.repeat(101)}\n\n`))
    const consumer = world.stream({ maxEventChars: 100 }).run()
    await world.pass(60_000)
    expect(consumer.data).toEqual(['data 1'])
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_EVENT_TOO_LARGE', retryable: false })
    expect(world.dials).toHaveLength(1)
  })

  test('of an id-only block move the cursor all the same', async () => {
    const world = new World([() => broken('id: 7\n\n'), () => open()])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(world.lastEventIds).toEqual([null, '7'])
    expect(consumer.stream.lastEventId).toBe('7')
  })
})

describe('onComment', () => {
  test('is told each comment, and may throw', async () => {
    const comments: string[] = []
    const world = new World(() => open(`: a\n:b\n:\n\n${block(1)}`))
    const onComment = (comment: string) => {
      comments.push(comment)
      throw new Error('mine')
    }
    const consumer = world.stream({ onComment }).run()
    await world.settle()
    expect(comments).toEqual(['a', 'b', ''])
    expect([consumer.data, consumer.over]).toEqual([['data 1'], false])
    expect(consumer.stream.stats().heartbeat.comments).toBe(3)
  })
})

describe('listeners', () => {
  test('that throw or reject at everything hurt nothing', async () => {
    const world = new World([() => broken(block(1)), () => open(block(2))])
    let calls = 0
    const onLifecycle = () => {
      if (calls++ % 2 === 0) throw new Error('mine')
      return Promise.reject(new Error('mine')) as unknown as undefined
    }
    const consumer = world.stream({ onLifecycle }).run()
    await world.pass(5_000)
    expect([consumer.data, consumer.over]).toEqual([['data 1', 'data 2'], false])
    expect(calls).toBeGreaterThan(4)
  })
})

describe('duplicates', () => {
  test('are dropped, counted and told as one run', async () => {
    const world = new World([() => broken(blocks(1, 5)), () => open(blocks(3, 7))])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.data).toEqual([1, 2, 3, 4, 5, 6, 7].map(id => `data ${id}`))
    expect(consumer.tellings('duplicate')).toMatchObject([{ count: 3, firstId: '3', lastId: '5' }])
    expect(consumer.stream.stats()).toMatchObject({ events: 7, dedupe: { duplicates: 3 } })
  })

  test('are delivered with layer 5 off', async () => {
    const world = new World([() => broken(blocks(1, 5)), () => open(blocks(3, 7))])
    const consumer = world.stream({ dedupe: false }).run()
    await world.pass(5_000)
    expect(consumer.data).toHaveLength(10)
  })
})

describe('gaps', () => {
  test('no-cursor: a stream without ids broke', async () => {
    const world = new World([() => broken('data: a\n\n'), () => open('data: c\n\n')])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([
      { reason: 'no-cursor', after: undefined, before: undefined },
    ])
    expect(consumer.data).toEqual(['a', 'c'])
  })

  test('cursor-ignored: the server replays everything', async () => {
    const world = new World([() => broken(blocks(1, 10)), () => open(blocks(1, 12))])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([{ reason: 'cursor-ignored', after: '10' }])
    expect(consumer.data).toHaveLength(12)
  })

  test('ids-reused: the server numbers anew', async () => {
    const world = new World([() => broken(blocks(1, 3)), () => open(`${block(1, 'x')}${block(2, 'y')}`)])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([{ reason: 'ids-reused', after: '3', before: '1' }])
    expect(consumer.data.slice(3)).toEqual(['x', 'y'])
  })

  test("missing: isNext 'decimal' sees an id skipped, across a reconnect and within a connection", async () => {
    const world = new World([() => broken(blocks(1, 3)), () => open(`${blocks(6, 7)}${block(9)}`)])
    const consumer = world.stream({ resume: { isNext: 'decimal' } }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([
      { reason: 'missing', after: '3', before: '6' },
      { reason: 'missing', after: '7', before: '9' },
    ])
    expect(consumer.data).toHaveLength(6)
    expect(consumer.stream.stats().resume.gaps).toBe(2)
  })

  test('missing is seen after a seed, too', async () => {
    const world = new World(() => open(block(7)))
    const consumer = world.stream({ resume: { isNext: 'decimal', lastEventId: '5' } }).run()
    await world.settle()
    expect(consumer.tellings('gap')).toMatchObject([{ reason: 'missing', after: '5', before: '7' }])
  })

  test('a new numbering is told once, not as skipped ids as well', async () => {
    const anew = [1, 2, 4].map(id => block(id, 'new')).join('')
    const world = new World([() => broken(blocks(1, 3)), () => open(anew)])
    const consumer = world.stream({ resume: { isNext: 'decimal' } }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toMatchObject([
      { reason: 'ids-reused', after: '3', before: '1' },
      { reason: 'missing', after: '2', before: '4' },
    ])
  })

  test('a replayed event is no skipped one', async () => {
    const world = new World([() => broken(blocks(1, 5)), () => open(blocks(4, 6))])
    const consumer = world.stream({ resume: { isNext: 'decimal' } }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toEqual([])
  })

  test.each([
    ['no-cursor', ['data: a\n\n', 'data: b\n\n'], {}],
    ['cursor-ignored', [blocks(1, 5), blocks(1, 6)], {}],
    ['ids-reused', [blocks(1, 5), block(1, 'new')], {}],
    ['missing', [block(1), block(3)], { isNext: 'decimal' }],
  ] as const)("%s ends the stream with onGap: 'throw'", async (reason, [first, second], resume) => {
    const world = new World([() => broken(first), () => open(second)])
    const consumer = world.stream({ resume: { ...resume, onGap: 'throw' } }).run()
    await world.pass(60_000)
    expect(consumer.error).toBeInstanceOf(SseGapError)
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_GAP', reason, retryable: false })
    expect((consumer.error as SseError).history.at(-1)).toMatchObject({ type: 'gap' })
    expect([world.dials.length, consumer.stream.state]).toEqual([2, 'closed'])
    expectNothingLeft()
  })

  test.each([
    ['missing', () => open(blocks(1, 2) + block(4)), { isNext: 'decimal' }],
    ['ids-reused', () => open(block(11) + block(1, 'new')), {}],
  ] as const)(
    "%s in the middle of a read is thrown after what came before it, with onGap: 'throw'",
    async (reason, second, resume) => {
      const world = new World(reason === 'missing' ? second : [() => broken(blocks(1, 10)), second])
      const consumer = world.stream({ resume: { ...resume, onGap: 'throw' } }).run()
      await world.pass(5_000)
      expect(consumer.error).toMatchObject({ code: 'ERR_SSE_GAP', reason })
      const expected =
        reason === 'missing' ? ['1', '2'] : [...Array.from({ length: 10 }, (_, n) => String(n + 1)), '11']
      expect(consumer.data).toEqual(expected.map(id => `data ${id}`))
      expect(consumer.stream.lastEventId).toBe(expected.at(-1))
      expectNothingLeft()
    },
  )

  test('are not told with layer 3 off', async () => {
    const world = new World([() => broken('data: a\n\n'), () => open()])
    const consumer = world.stream({ resume: false }).run()
    await world.pass(5_000)
    expect(consumer.tellings('gap')).toEqual([])
  })
})

describe("a store, with ack: 'next'", () => {
  const withStore = (store: CursorStore, more: ResilientSseOptions['resume'] = {}): ResilientSseOptions => ({
    resume: { store, ...more },
  })

  test('is never ahead of the event that is being handled', async () => {
    const store = new RecordingStore()
    const world = new World(() => open(blocks(1, 50)))
    const consumer = world.stream(withStore(store)).run(async data => {
      await new Promise(resolve => setTimeout(resolve, 5))
      const inHand = Number(data.slice(5))
      expect(Number(store.saves.at(-1) ?? 0)).toBeLessThan(inHand)
    })
    await world.pass(1_000)
    expect(consumer.error).toBeUndefined()
    expect(consumer.data).toHaveLength(50)
    expect(store.saves.at(-1)).toBe('50')
  })

  test('has the event in hand unacknowledged after break, and gets it again next time', async () => {
    const store = new RecordingStore()
    const world = new World(({ headers }) => open(blocks(Number(headers.get('last-event-id')) + 1, 5)))
    const { stream } = world.stream(withStore(store))
    for await (const event of stream) if (event.id === '3') break
    expect([store.stored, store.closed]).toEqual(['2', 1])
    const second = world.stream(withStore(store)).run()
    await world.settle()
    expect(world.lastEventIds).toEqual([null, '2'])
    expect(second.data).toEqual([3, 4, 5].map(id => `data ${id}`))
  })

  test('has the event in hand unacknowledged after a throw', async () => {
    const store = new RecordingStore()
    const world = new World(() => open(blocks(1, 5)))
    world.stream(withStore(store)).run(data => {
      if (data === 'data 4') throw new Error('mine')
    })
    await world.settle()
    expect(store.stored).toBe('3')
  })

  test('has a whole batch acknowledged when the next one is asked for', async () => {
    const store = new RecordingStore()
    const body = new Body().send(blocks(1, 5))
    const world = new World(() => body.response())
    const batches = world.stream(withStore(store)).stream.batches()
    await batches.next()
    await world.settle()
    expect(store.saves).toEqual([])
    void batches.next()
    await world.settle()
    expect(store.saves).toEqual(['5'])
  })

  test('wins over lastEventId, and its event is known to dedupe', async () => {
    const store = new RecordingStore('7')
    const world = new World(() => open(blocks(7, 9)))
    const consumer = world.stream(withStore(store, { lastEventId: '3' })).run()
    await world.settle()
    expect(world.lastEventIds).toEqual(['7'])
    expect(consumer.data).toEqual(['data 8', 'data 9'])
  })

  test('that is empty leaves lastEventId in force', async () => {
    const world = new World(() => open())
    world.stream(withStore(new RecordingStore(), { lastEventId: '3' })).run()
    await world.settle()
    expect(world.lastEventIds).toEqual(['3'])
  })

  test('has one save in flight; of the ids that come meanwhile only the newest follows', async () => {
    const store = new RecordingStore()
    store.delayMs = 100
    const body = new Body()
    const world = new World(() => body.response())
    const consumer = world.stream(withStore(store)).run()
    for (let id = 1; id <= 40; id++) {
      body.send(block(id))
      await world.pass(10)
    }
    await world.pass(500)
    expect(store.mostInFlight).toBe(1)
    expect(store.saves.length).toBeLessThanOrEqual(6)
    expect(store.saves.at(-1)).toBe('40')
    expect(consumer.data).toHaveLength(40)
    const ids = store.saves.map(Number)
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    expect(consumer.tellings('cursor').map(({ id }) => id)).toEqual(store.saves)
  })

  test('is given the newest id on close, before it is closed', async () => {
    const store = new RecordingStore()
    store.delayMs = 100
    const world = new World(() => open(blocks(1, 5)))
    const consumer = world.stream(withStore(store)).run()
    await world.settle()
    const closing = consumer.stream.close()
    await world.pass(300)
    await closing
    expect([store.stored, store.closed, store.mostInFlight]).toEqual(['5', 1, 1])
  })

  test('that fails is told as a cursor event, is asked again for newer ids, and rejects close() in the end', async () => {
    const store = new RecordingStore()
    store.fails = () => true
    const body = new Body().send(block(1))
    const world = new World(() => body.response())
    const consumer = world.stream(withStore(store)).run()
    await world.settle()
    body.send(block(2))
    await world.settle()
    expect(consumer.over).toBe(false)
    expect(consumer.tellings('cursor')).toMatchObject([
      { id: '1', error: { code: 'ERR_SSE_STORE' } },
      { id: '2', error: { code: 'ERR_SSE_STORE' } },
    ])
    expect(consumer.stream.stats().resume).toMatchObject({ saves: 0, failedSaves: 2 })
    await expect(consumer.stream.close()).rejects.toMatchObject({
      code: 'ERR_SSE_STORE',
      cause: new Error('disk full'),
    })
  })

  test('that failed once and then worked lets close() resolve', async () => {
    const store = new RecordingStore()
    store.fails = id => id === '1'
    const body = new Body().send(block(1))
    const world = new World(() => body.response())
    const consumer = world.stream(withStore(store)).run()
    await world.settle()
    body.send(block(2))
    await world.settle()
    await expect(consumer.stream.close()).resolves.toBeUndefined()
    expect(store.stored).toBe('2')
  })

  test('that cannot be loaded ends the stream before anything is dialled', async () => {
    const world = new World(() => open())
    const store = {
      load: () => Promise.reject(new Error('locked')),
      save: () => {},
    }
    const consumer = world.stream(withStore(store)).run()
    await world.settle()
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_STORE', cause: new Error('locked') })
    expect(world.dials).toHaveLength(0)
  })

  test('that loads something else than a string ends it, too', async () => {
    const world = new World(() => open())
    const store = { load: () => 7 as unknown as string, save: () => {} }
    const consumer = world.stream(withStore(store)).run()
    await world.settle()
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_STORE' })
  })

  test('is given an emptied cursor as an empty string', async () => {
    const store = new RecordingStore()
    const world = new World(() => open(`${block(1)}id:\ndata: x\n\n`))
    world.stream(withStore(store)).run()
    await world.settle()
    expect(store.stored).toBe('')
  })

  test('is given the id of a block without data once nothing before it is in hand', async () => {
    const store = new RecordingStore()
    const body = new Body().send(block(1))
    const world = new World(() => body.response())
    world.stream(withStore(store)).run()
    await world.settle()
    body.send('id: 2\n\n')
    await world.settle()
    expect(store.stored).toBe('2')
  })

  test('never goes back with the ids of dropped duplicates', async () => {
    const store = new RecordingStore()
    const world = new World([
      () => broken(blocks(1, 3)),
      () => broken(blocks(1, 2)),
      () => open(blocks(2, 3)),
    ])
    const consumer = world.stream(withStore(store)).run()
    await world.pass(9_000)
    expect(store.saves).toEqual(['1', '2', '3'])
    expect(world.lastEventIds).toEqual([null, '3', '3'])
    expect(consumer.stream.lastEventId).toBe('3')
    expect(consumer.data).toHaveLength(3)
  })
})

describe("a store, with ack: 'manual'", () => {
  const manual = (store?: CursorStore): ResilientSseOptions => ({
    resume: { ack: 'manual', ...(store && { store }) },
  })

  test('moves when an event and all before it are acknowledged, whatever the order', async () => {
    const store = new RecordingStore()
    const world = new World(() => open(blocks(1, 4)))
    const { stream } = world.stream(manual(store))
    const iterator = stream[Symbol.asyncIterator]()
    const handed = []
    for (let count = 0; count < 4; count++) handed.push((await iterator.next()).value)
    const [first, second, third, fourth] = handed
    if (!first || !second || !third || !fourth) throw new Error('four events were sent')
    await world.settle()
    expect(store.saves).toEqual([])
    stream.ack(third)
    stream.ack(second)
    await world.settle()
    expect(store.saves).toEqual([])
    stream.ack(first)
    await world.settle()
    expect(store.saves).toEqual(['3'])
    await stream.close()
    expect(store.stored).toBe('3')
    stream.ack(fourth)
  })

  test('takes whole batches, event by event', async () => {
    const store = new RecordingStore()
    const world = new World(() => open(blocks(1, 3)))
    const { stream } = world.stream(manual(store))
    const batch = (await stream.batches().next()).value ?? []
    for (const event of batch.slice(0, 2)) stream.ack(event)
    await world.settle()
    expect(store.stored).toBe('2')
  })

  test('takes the id of a block without data along with the event before it', async () => {
    const store = new RecordingStore()
    const world = new World(() => open(`${block(1)}id: 2\n\n`))
    const { stream } = world.stream(manual(store))
    const event = (await stream[Symbol.asyncIterator]().next()).value
    stream.ack(event as never)
    await world.settle()
    expect(store.stored).toBe('2')
  })

  test('refuses what this stream did not hand out', async () => {
    const world = new World(() => open(block(1)))
    const { stream } = world.stream(manual())
    const event = (await stream[Symbol.asyncIterator]().next()).value
    for (const other of [{ data: 'x' }, { ...event, data: 'data 1' }]) {
      expect(() => stream.ack(other)).toThrow(expect.objectContaining({ code: 'ERR_SSE_OPTION' }))
    }
    expect(() => stream.ack(event as never)).not.toThrow()
  })

  test("is refused with ack: 'next', where it could not take effect", async () => {
    const world = new World(() => open(block(1)))
    const { stream } = world.stream()
    const event = (await stream[Symbol.asyncIterator]().next()).value
    expect(() => stream.ack(event as never)).toThrow(expect.objectContaining({ code: 'ERR_SSE_OPTION' }))
  })
})

describe('json()', () => {
  const schema = {
    '~standard': {
      validate: (value: unknown) =>
        typeof (value as { n?: unknown }).n === 'number'
          ? { value: value as { n: number } }
          : { issues: [{ message: 'Expected number', path: [{ key: 'n' }] }] },
    },
  }

  test('parses the data, and keeps id and event', async () => {
    const world = new World(() => open('id: 1\nevent: e\ndata: {"n": 1}\n\n'))
    const events = world.stream().stream.json(schema)
    expect((await events.next()).value).toEqual({ data: { n: 1 }, id: '1', event: 'e' })
  })

  test.each([
    ['that is not JSON', 'id: 7\ndata: {oops\n\n', /^The event "7" holds data that is not JSON$/],
    [
      'that does not match',
      'id: 7\ndata: {}\n\n',
      /^The event "7" does not match the schema \(n: Expected number\)$/,
    ],
    ['without an id', 'data: {}\n\n', /^An event without id does not match/],
  ])('ends the stream at data %s, naming the id', async (_, text, message) => {
    const world = new World(() => open(text))
    const { stream } = world.stream()
    const events = stream.json(schema)
    await expect(events.next()).rejects.toMatchObject({
      code: 'ERR_SSE_JSON',
      message: expect.stringMatching(message),
    })
    expect(stream.state).toBe('closed')
  })

  test('leaves the event that did not fit unacknowledged', async () => {
    const store = new RecordingStore()
    const world = new World(() => open('id: 1\ndata: 1\n\nid: 2\ndata: {\n\n'))
    const events = world.stream({ resume: { store } }).stream.json()
    await events.next()
    await expect(events.next()).rejects.toBeInstanceOf(SseError)
    expect(store.stored).toBe('1')
  })

  test('works without a schema, and ends with break', async () => {
    const world = new World(() => open('data: [1]\n\n'))
    const { stream } = world.stream()
    for await (const { data } of stream.json()) {
      expect(data).toEqual([1])
      break
    }
    expect(stream.state).toBe('closed')
  })
})

describe('an end that somebody else has to make', () => {
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
    expect(dial).toThrow(/^tcp.proxy: HTTP_PROXY or HTTPS_PROXY is not a URL$/)
  })
})

test('a greeting on each connection, with a small overlap behind it, is no full replay', async () => {
  const greeting = block('hello', 'welcome')
  const world = new World([() => broken(greeting + blocks(1, 8)), () => open(greeting + blocks(7, 9))])
  const consumer = world.stream({ resume: { onGap: 'throw' } }).run()
  await world.pass(5_000)
  expect(consumer.tellings('gap')).toEqual([])
  expect(consumer.data).toEqual(['welcome', ...Array.from({ length: 9 }, (_, n) => `data ${n + 1}`)])
})
