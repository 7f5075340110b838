/** One event of the stream. `id` and `event` are `undefined` when its own block had no such field. */
export interface SseEvent {
  /** The data lines, joined by line feeds. May be empty. */
  readonly data: string
  /** The id field of this very block; an inherited id stands in `stream.lastEventId`. */
  readonly id?: string | undefined
  /** The event type; `undefined` stands for the standard's `message`. */
  readonly event?: string | undefined
}

/**
 * What one network read brought: events, and the moments in which the cursor moved without one (an id-only block, a
 * dropped duplicate), each with the number of events before it.
 */
export interface Batch {
  events: SseEvent[]
  cursorMoves: { id: string; at: number }[]
}

/** The cursor in force after the first `count` events; with `settled`, also after the moves that follow them. */
export function cursorAfter(batch: Batch, count: number, settled: boolean): string | undefined {
  const { events, cursorMoves } = batch
  let move = cursorMoves.length - 1
  for (let index = count; index >= 0; index--) {
    while (move >= 0 && (cursorMoves[move] as { at: number }).at > index) move--
    const here = cursorMoves[move]
    if (here !== undefined && here.at === index && (settled || index < count)) return here.id
    const id = index > 0 ? events[index - 1]?.id : undefined
    if (id !== undefined) return id
  }
  return undefined
}
