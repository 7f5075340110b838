import { vi } from 'vitest'
import { Delivery } from '../src/delivery.ts'
import type { Batch, SseEvent } from '../src/event.ts'

const event = (id?: string): SseEvent => ({ data: `data ${id ?? 'bare'}`, ...(id !== undefined && { id }) })

/** `1 2 - #7 3`: events with ids 1, 2, none, a block with id 7 and no data, and an event with id 3. */
export function batchOf(words: string): Batch {
  const batch: Batch = { events: [], cursorMoves: [] }
  for (const word of words.split(' ').filter(word => word !== '')) {
    if (word.startsWith('#')) batch.cursorMoves.push({ id: word.slice(1), at: batch.events.length })
    else batch.events.push(event(word === '-' ? undefined : word))
  }
  return batch
}

/** A delivery from batches that are there, and the ids that were handed to the store. */
export function deliver(tracking: 'next' | 'manual' | false, ...batches: string[]) {
  const handled: string[] = []
  const close = vi.fn(async () => {})
  const left = batches.map(batchOf)
  const pull = vi.fn(async () => left.shift())
  const delivery = new Delivery(
    { pull, handled: id => handled.push(id), close, isOver: () => false },
    tracking,
  )
  return { delivery, handled, close, pull }
}
