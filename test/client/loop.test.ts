import { describe, expect, test, vi } from 'vitest'
import type { SseError } from '../../src/errors.ts'
import { Body, block, blocks, broken, ended, expectNothingLeft, open, status, World } from './world.ts'

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
    expect(removed.mock.calls).toEqual(added.mock.calls)
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

  test('is told comments and events in the order of the stream, however they came', async () => {
    const text = `:a\n${block(1)}:b\n:c\n${block(2)}id: 3\n\n:d\n${block(4)}:e\n`
    for (const length of [text.length, 1, 7]) {
      const told: string[] = []
      const body = new Body()
      const world = new World(() => body.response())
      for (let at = 0; at < text.length; at += length) body.send(text.slice(at, at + length))
      const stream = world.stream({ onComment: comment => told.push(comment) }).stream
      const reading = (async () => {
        for await (const { data } of stream) told.push(data)
      })()
      await world.settle()
      expect(told).toEqual(['a', 'data 1', 'b', 'c', 'data 2', 'd', 'data 4', 'e'])
      expect(stream.stats()).toMatchObject({ bytes: text.length, events: 3, heartbeat: { comments: 5 } })
      await stream.close()
      await reading
    }
  })

  test('holds a comment back until the events before it were handled, and no event for it', async () => {
    const told: string[] = []
    const world = new World(() => open(`${block(1)}:a\n${block(2)}`))
    const { stream } = world.stream({ onComment: comment => told.push(comment) })
    const events = stream[Symbol.asyncIterator]()
    expect((await events.next()).value?.data).toBe('data 1')
    await world.settle()
    expect(told).toEqual([])
    expect((await events.next()).value?.data).toBe('data 2')
    expect(told).toEqual(['a'])
    await stream.close()
  })

  test('what a connection brought is handed out after it was given up, comments in their place', async () => {
    const told: string[] = []
    const world = new World([() => open(`${block(1)}:a\n${block(2)}`), () => open(block(3))])
    const { stream } = world.stream({ onComment: comment => told.push(comment) })
    for await (const { data } of stream) {
      told.push(data)
      if (told.length === 1) stream.reconnect()
      if (told.length === 4) break
    }
    expect(told).toEqual(['data 1', 'a', 'data 2', 'data 3'])
    expect(world.lastEventIds).toEqual([null, '2'])
  })

  test('that closes the stream at a comment is handed none of the events after it', async () => {
    const world = new World(() => open(`${block(1)}:a\n:b\n${block(2)}`))
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
    expect([consumer.data, comments, consumer.over]).toEqual([['data 1'], ['a'], true])
  })

  test('is not needed for batches to be whole reads', async () => {
    const text = `${block(1)}:a\n${block(2)}`
    const sizes: number[] = []
    const world = new World(() => open(text))
    const { stream } = world.stream()
    for await (const batch of stream.batches()) {
      sizes.push(batch.length)
      break
    }
    expect(sizes).toEqual([2])
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
