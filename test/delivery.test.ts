import { describe, expect, test, vi } from 'vitest'
import { Delivery } from '../src/delivery.ts'
import { type Batch, CursorWalk, cursorAfter } from '../src/event.ts'
import { batchOf, deliver } from './batches.ts'

describe('the cursor after some events of a batch', () => {
  test.each([
    ['1 2 3', 0, undefined],
    ['1 2 3', 2, '2'],
    ['1 2 3', 3, '3'],
    ['1 - -', 3, '1'],
    ['- -', 2, undefined],
    ['1 #7 2', 1, '7'],
    ['#7 1', 0, '7'],
    ['1 #7 #8', 1, '8'],
    ['1 #7', 1, '7'],
    ['1 # 2', 1, ''],
  ])('of %j, after %d, what follows them included: %s', (words, count, id) => {
    expect(cursorAfter(batchOf(words), count, true)).toBe(id)
  })

  test.each([
    ['1 #7 2', 1, '1'],
    ['1 #7 2', 2, '2'],
    ['1 #7 -', 2, '7'],
    ['#7 -', 1, '7'],
    ['#7 1', 0, undefined],
    ['1 #7', 1, '1'],
  ])('of %j, after %d, up to the last of them: %s', (words, count, id) => {
    expect(cursorAfter(batchOf(words), count, false)).toBe(id)
  })

  test('is the newest that is acceptable, where that is asked for', () => {
    const short = (id: string) => id.length < 3
    expect(cursorAfter(batchOf('1 22 #333 4444'), 2, true, short)).toBe('22')
    expect(cursorAfter(batchOf('1 #2 #333 4444'), 2, true, short)).toBe('2')
    expect(cursorAfter(batchOf('333 4444'), 2, true, short)).toBeUndefined()
  })

  test.each(['1 2 3', '1 - -', '- -', '1 #7 2', '#7 #8 - #9', '- # 1 #7', ''])(
    'is found by a walk through %j, too, whatever was asked for on the way',
    words => {
      const batch = batchOf(words)
      const { length } = batch.events
      const looks = [...Array(length + 1).keys()].flatMap(count =>
        [false, true].map(settled => ({ count, settled })),
      )
      for (let chosen = 0; chosen < 2 ** looks.length; chosen++) {
        const walk = new CursorWalk(batch)
        for (const [index, { count, settled }] of looks.entries()) {
          if ((chosen >> index) % 2 === 0) continue
          expect(walk.after(count, settled)).toBe(cursorAfter(batch, count, settled))
        }
      }
    },
  )
})

describe('handing out', () => {
  test('pulls once per batch, not once per event', async () => {
    const { delivery, pull } = deliver(false, '1 2 3', '4')
    const events = delivery.events()
    const ids = []
    for (let count = 0; count < 4; count++) ids.push((await events.next()).value?.id)
    expect(ids).toEqual(['1', '2', '3', '4'])
    expect(pull).toHaveBeenCalledTimes(2)
  })

  test('ends when the source does, as often as it is asked', async () => {
    const { delivery } = deliver(false, '1')
    const events = delivery.events()
    await events.next()
    expect(await events.next()).toEqual({ done: true, value: undefined })
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })

  test('hands out the very events that were parsed', async () => {
    const batch = batchOf('1 2')
    const left = [batch]
    const source = {
      pull: async () => left.shift(),
      handled: () => {},
      close: async () => {},
      isOver: () => false,
    }
    const events = new Delivery(source, false).events()
    expect((await events.next()).value).toBe(batch.events[0])
    const whole = batchOf('3 4')
    left.push(whole)
    const batches = new Delivery(source, false).batches()
    expect((await batches.next()).value).toBe(whole.events)
  })

  test('answers calls that were made together in order, and calls after them behind', async () => {
    let give: (batch: Batch | undefined) => void = () => {}
    const pull = () => new Promise<Batch | undefined>(resolve => (give = resolve))
    const delivery = new Delivery(
      { pull, handled: () => {}, close: async () => {}, isOver: () => false },
      false,
    )
    const events = delivery.events()
    const order: string[] = []
    const ask = () =>
      events.next().then(({ value, done }) => order.push(done ? 'end' : (value?.id as string)))
    const asked = [ask(), ask(), ask()]
    await Promise.resolve()
    give(batchOf('1 2'))
    await asked[1]
    asked.push(ask())
    await new Promise(resolve => setImmediate(resolve))
    give(batchOf('3 4'))
    await Promise.all(asked)
    expect(order).toEqual(['1', '2', '3', '4'])
  })

  test('goes on after a pull that failed', async () => {
    const pull = vi.fn<() => Promise<Batch | undefined>>(async () => batchOf('1'))
    pull.mockRejectedValueOnce(new Error('broken'))
    const delivery = new Delivery(
      { pull, handled: () => {}, close: async () => {}, isOver: () => false },
      false,
    )
    const events = delivery.events()
    const [first, second] = [events.next(), events.next()]
    await expect(first).rejects.toThrow('broken')
    expect((await second).value?.id).toBe('1')
  })

  test('return() closes the source at once, beside a pending next()', async () => {
    const close = vi.fn(async () => {})
    const source = {
      pull: () => new Promise<undefined>(() => {}),
      handled: () => {},
      close,
      isOver: () => false,
    }
    const events = new Delivery(source, false).events()
    void events.next()
    expect(await events.return?.()).toEqual({ done: true, value: undefined })
    expect(close).toHaveBeenCalledTimes(1)
  })

  test('has one consumer, and none once the source is over', () => {
    const { delivery } = deliver(false, '1')
    delivery.batches()
    expect(() => delivery.events()).toThrow(expect.objectContaining({ code: 'ERR_SSE_LOCKED' }))
    const source = {
      pull: async () => undefined,
      handled: () => {},
      close: async () => {},
      isOver: () => true,
    }
    expect(() => new Delivery(source, false).events()).toThrow(
      expect.objectContaining({ code: 'ERR_SSE_CLOSED' }),
    )
  })
})

test.each(['next', 'manual', false] as const)(
  'a read of many events without ids is walked through once, with ack: %j',
  async tracking => {
    let looks = 0
    const bare = Object.defineProperty({ data: '' }, 'id', { get: () => void looks++ })
    const left: Batch[] = [{ events: Array(1_000).fill(bare), cursorMoves: [] }]
    const delivery = new Delivery(
      { pull: async () => left.shift(), handled: () => {}, close: async () => {}, isOver: () => false },
      tracking,
    )
    for await (const _ of delivery.events()) delivery.lastEventId
    expect(looks).toBeGreaterThan(0)
    expect(looks).toBeLessThanOrEqual(2_000)
  },
)

describe('lastEventId', () => {
  test('is that of the last event handed out, inherited ones included', async () => {
    const { delivery } = deliver(false, '1 - #7 2 #8', '-', '# -')
    const events = delivery.events()
    const seen: (string | undefined)[] = [delivery.lastEventId]
    for (let count = 0; count < 5; count++) {
      await events.next()
      seen.push(delivery.lastEventId)
    }
    expect(seen).toEqual([undefined, '1', '1', '2', '8', ''])
  })

  test('starts at the seed', async () => {
    const { delivery } = deliver(false, '- 1')
    delivery.seed('5')
    const events = delivery.events()
    await events.next()
    expect(delivery.lastEventId).toBe('5')
    await events.next()
    expect(delivery.lastEventId).toBe('1')
  })

  test('does not move when the rest of a batch is discarded', async () => {
    const { delivery } = deliver(false, '1 2 3')
    await delivery.events().next()
    delivery.discard()
    expect(delivery.lastEventId).toBe('1')
  })
})
