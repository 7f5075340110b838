import { describe, expect, test } from 'vitest'
import type { CursorStore } from '../../src/layers/resume.ts'
import type { ResilientSseOptions } from '../../src/options.ts'
import { RecordingStore } from './recording-store.ts'
import { Body, block, blocks, broken, open, World } from './world.ts'

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

  test('is not given the id of a block without data before the events ahead of it are handled', async () => {
    const store = new RecordingStore()
    const world = new World(() => open(`${blocks(1, 2)}id: 3\n\n`))
    const iterator = world.stream(withStore(store)).stream[Symbol.asyncIterator]()
    for (const saves of [[], ['1'], ['1', '3']]) {
      void iterator.next()
      await world.settle()
      expect(store.saves).toEqual(saves)
    }
  })

  test('is loaded while the stream is connecting', async () => {
    const world = new World(() => open())
    const store = { load: () => new Promise<undefined>(() => {}), save: () => {} }
    const { stream } = world.stream(withStore(store)).run()
    await world.settle()
    expect([stream.state, world.dials.length]).toEqual(['connecting', 0])
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
