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

/**
 * The cursor in force after the first `count` events, or the newest before it that `accept` takes; `undefined` when the
 * batch holds none. With `settled`, the moves that follow the last of these events count, too.
 */
export function cursorAfter(
  batch: Batch,
  count: number,
  settled: boolean,
  accept: (id: string) => boolean = anyId,
): string | undefined {
  const { events, cursorMoves } = batch
  let move = cursorMoves.length - 1
  for (let index = count; index >= 0; index--) {
    for (; move >= 0 && (cursorMoves[move] as { at: number }).at >= index; move--) {
      const { id, at } = cursorMoves[move] as { id: string; at: number }
      if (at === index && (settled || index < count) && accept(id)) return id
    }
    const id = events[index - 1]?.id
    if (id !== undefined && accept(id)) return id
  }
  return undefined
}

/** {@link cursorAfter} for counts that never fall: each look goes on from the last one, where a batch may be large. */
export class CursorWalk {
  #id: string | undefined
  #passed = 0
  #moves = 0
  readonly #batch: Batch

  constructor(batch: Batch) {
    this.#batch = batch
  }

  after(count: number, settled: boolean): string | undefined {
    const { events, cursorMoves } = this.#batch
    for (;;) {
      const move = cursorMoves[this.#moves]
      if (move !== undefined && move.at === this.#passed && (this.#passed < count || settled)) {
        this.#id = move.id
        this.#moves++
      } else if (this.#passed < count) {
        this.#id = events[this.#passed++]?.id ?? this.#id
      } else {
        return this.#id
      }
    }
  }
}

function anyId(): boolean {
  return true
}
