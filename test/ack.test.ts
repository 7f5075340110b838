import { describe, expect, test } from 'vitest'
import type { SseEvent } from '../src/event.ts'
import { deliver } from './batches.ts'

describe("ack: 'next'", () => {
  test('acknowledges each event when the one after it is asked for', async () => {
    const { delivery, handled } = deliver('next', '1 2', '3')
    const events = delivery.events()
    const after: string[][] = []
    for (let count = 0; count < 4; count++) {
      await events.next()
      after.push([...handled])
    }
    expect(after[0]).toEqual([])
    expect(after[1]).toEqual(['1'])
    expect(after[2]?.at(-1)).toBe('2')
    expect(after[3]?.at(-1)).toBe('3')
  })

  test('acknowledges a block without data only with the event before it', async () => {
    const { delivery, handled } = deliver('next', '1 #2 3')
    const events = delivery.events()
    await events.next()
    expect(handled).toEqual([])
    await events.next()
    expect(handled).toEqual(['2'])
  })

  test('acknowledges a whole batch with the next one', async () => {
    const { delivery, handled } = deliver('next', '1 2 #3', '4')
    const batches = delivery.batches()
    await batches.next()
    expect(handled).toEqual([])
    await batches.next()
    expect(handled).toEqual(['3'])
  })

  test.each([
    ['an event', 'events'],
    ['a batch', 'batches'],
  ] as const)('acknowledges a block without data ahead of %s when that is handed out', async (_, how) => {
    const { delivery, handled } = deliver('next', '-', '#1 2 3')
    const items = delivery[how]()
    await items.next()
    expect(handled).toEqual([])
    await items.next()
    expect(handled).toEqual(['1'])
  })

  test('leaves the event in hand unacknowledged by return()', async () => {
    const { delivery, handled } = deliver('next', '1 2 3')
    const events = delivery.events()
    await events.next()
    await events.next()
    await events.return?.()
    delivery.discard()
    expect(handled).toEqual(['1'])
  })

  test('acknowledges a move of the cursor that came without any event', () => {
    const { delivery, handled } = deliver('next')
    delivery.moved('7')
    expect([handled, delivery.lastEventId]).toEqual([['7'], '7'])
  })
})

describe("ack: 'manual'", () => {
  async function handedOut(...batches: string[]) {
    const made = deliver('manual', ...batches)
    const events = made.delivery.events()
    const out: SseEvent[] = []
    for (let result = await events.next(); !result.done; result = await events.next()) out.push(result.value)
    return { ...made, out }
  }

  test('moves the cursor over events that are acknowledged without a hole', async () => {
    const { delivery, handled, out } = await handedOut('1 2 3', '4')
    for (const index of [3, 1, 2]) delivery.ack(out[index] as SseEvent)
    expect(handled).toEqual([])
    delivery.ack(out[0] as SseEvent)
    expect(handled).toEqual(['4'])
  })

  test('takes an event without id as part of the way', async () => {
    const { delivery, handled, out } = await handedOut('1 - 2')
    delivery.ack(out[0] as SseEvent)
    expect(handled).toEqual(['1'])
    delivery.ack(out[2] as SseEvent)
    expect(handled).toEqual(['1'])
    delivery.ack(out[1] as SseEvent)
    expect(handled).toEqual(['1', '2'])
  })

  test('twice for one event is once', async () => {
    const { delivery, handled, out } = await handedOut('1 2')
    delivery.ack(out[1] as SseEvent)
    delivery.ack(out[1] as SseEvent)
    delivery.ack(out[0] as SseEvent)
    delivery.ack(out[0] as SseEvent)
    expect(handled).toEqual(['2'])
  })

  test('tells two events with the same id and data apart', async () => {
    const { delivery, handled, out } = await handedOut('1 1 2')
    delivery.ack(out[1] as SseEvent)
    expect(handled).toEqual([])
    delivery.ack(out[0] as SseEvent)
    expect(handled).toEqual(['1'])
  })

  test('holds a move without an event back behind the last event handed out', async () => {
    const { delivery, handled, out } = await handedOut('1')
    delivery.moved('9')
    expect(handled).toEqual([])
    delivery.ack(out[0] as SseEvent)
    expect(handled).toEqual(['9'])
  })

  test('takes a block without data ahead of the events of its read as part of what came before', async () => {
    const { delivery, handled } = deliver('manual', '1', '#2 3')
    const events = delivery.events()
    const first = await events.next()
    delivery.ack(first.value as SseEvent)
    await events.next()
    expect(handled).toEqual(['1', '2'])
  })

  test('holds such a block back as long as what came before is not acknowledged', async () => {
    const { delivery, handled } = deliver('manual', '1', '#2 3')
    const events = delivery.events()
    const first = await events.next()
    await events.next()
    expect(handled).toEqual([])
    delivery.ack(first.value as SseEvent)
    expect(handled).toEqual(['2'])
  })

  test('nothing is acknowledged by asking for more', async () => {
    const { handled } = await handedOut('1 2 3', '4 5')
    expect(handled).toEqual([])
  })
})
