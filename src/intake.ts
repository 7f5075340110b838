import { type GapReason, SseGapError } from './errors.ts'
import { type Batch, cursorAfter } from './event.ts'
import type { Progress } from './failure.ts'
import { Dedupe } from './layers/dedupe.ts'
import { ReplayDetector } from './layers/replay.ts'
import { Cursor } from './layers/resume.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ResolvedOptions } from './options.ts'
import { Sieve } from './sieve.ts'

/** Layers 3 and 5 at work on what was read: the cursor, duplicates, and gaps that are told. */
export class Intake {
  readonly cursor: Cursor
  /** What the present connection has brought: an id never seen before, data without new ids, or nothing new. */
  progress: Progress = 'nothing'
  readonly #sieve: Sieve | undefined
  readonly #lifecycle: Lifecycle
  readonly #tellsGaps: boolean
  readonly #throwsGaps: boolean
  #connections = 0
  /** The gap that ends the stream, and how many events of the batch are still delivered before it. */
  #fatal: { error: SseGapError; at: number } | undefined
  #resumedAfter: string | undefined
  /** The last delivered id, for `isNext`. */
  #lastId: string | undefined
  /** A run of duplicates that is still going on. */
  #run: { count: number; firstId: string; lastId: string } | undefined

  constructor({ resume, dedupe }: ResolvedOptions, lifecycle: Lifecycle) {
    this.cursor = new Cursor(resume ? resume.isNext : undefined)
    this.#sieve = dedupe ? new Sieve(new Dedupe(dedupe), new ReplayDetector()) : undefined
    this.#lifecycle = lifecycle
    this.#tellsGaps = resume !== false
    this.#throwsGaps = resume !== false && resume.onGap === 'throw'
  }

  /** How many ids are remembered. */
  get size(): number {
    return this.#sieve?.size ?? 0
  }

  /** Where this stream begins: its own option, or what a store has kept. */
  seed(id: string): void {
    this.cursor.advance(id, accept => (accept(id) ? id : undefined))
    this.#sieve?.seed(id)
    this.#lastId = id
  }

  /** @throws SseGapError with `onGap: 'throw'`. */
  connected(lastEventId: string | undefined): void {
    this.#resumedAfter = this.cursor.received
    this.progress = 'nothing'
    this.#sieve?.connected(this.cursor.received, lastEventId !== undefined)
    this.#connections++
    const reason = this.#connections > 1 ? this.cursor.gapAtReconnect() : undefined
    if (reason !== undefined) this.#gap({ reason, after: undefined, before: undefined }, 0)
    this.throwGap()
  }

  /** @throws SseGapError with `onGap: 'throw'`, once everything before the gap has been delivered. */
  throwGap(): void {
    if (this.#fatal !== undefined) throw this.#fatal.error
  }

  /** Layer 3. A block moves the cursor with or without an event. */
  moveCursor(batch: Batch): void {
    const { length } = batch.events
    const received = cursorAfter(batch, length, true)
    if (received !== undefined)
      this.cursor.advance(received, accept => cursorAfter(batch, length, true, accept))
  }

  /** Layer 5, and what it and `isNext` know of gaps. With `onGap: 'throw'` the batch stops short of one. */
  withoutDuplicates(batch: Batch, before: string | undefined): Batch {
    const sifted = this.#sieve?.sift(batch) ?? { batch, dropped: [], gaps: [] }
    for (const id of sifted.dropped) {
      this.#run ??= { count: 0, firstId: id, lastId: id }
      this.#run.count++
      this.#run.lastId = id
    }
    if (sifted.batch.events.length > 0) this.endRun()
    for (const { reason, before: next, at } of sifted.gaps) {
      if (this.#fatal === undefined) this.#gap({ reason, after: before, before: next }, at)
    }
    // What follows by another numbering is not told a second time, as skipped.
    const anewAt = sifted.gaps.find(({ reason }) => reason === 'ids-reused')?.at
    if (this.cursor.checksOrder) this.#checkOrder(sifted.batch, anewAt)
    if (this.progress !== 'news') this.#judgeProgress(sifted.batch)
    return this.#fatal === undefined ? sifted.batch : firstOf(sifted.batch, this.#fatal.at)
  }

  /** An empty event with an id is a greeting (MCP's priming event): a flapping server sends one each time. */
  #judgeProgress(batch: Batch): void {
    for (const { id, data } of batch.events) {
      if (data === '') continue
      this.progress = id && id !== this.#resumedAfter ? 'news' : 'data'
      if (this.progress === 'news') return
    }
  }

  /** Tells a run of duplicates that has ended. */
  endRun(): void {
    if (this.#run === undefined) return
    this.#lifecycle.tell('duplicate', this.#run)
    this.#run = undefined
  }

  /** `anewAt`: where another numbering begins. */
  #checkOrder(batch: Batch, anewAt: number | undefined): void {
    for (const [index, { id }] of batch.events.entries()) {
      // A gap ahead of the one that was found first takes its place; nothing from behind a gap is delivered.
      if (this.#fatal !== undefined && index >= this.#fatal.at) return
      if (!id) continue
      if (index === anewAt) this.#lastId = undefined
      if (this.#lastId && this.cursor.skipped(this.#lastId, id))
        this.#gap({ reason: 'missing', after: this.#lastId, before: id }, index)
      this.#lastId = id
    }
  }

  /** `at`: how many events of the batch come before it. */
  #gap(gap: { reason: GapReason; after: string | undefined; before: string | undefined }, at: number): void {
    if (!this.#tellsGaps) return
    this.#lifecycle.tell('gap', gap)
    if (this.#throwsGaps) this.#fatal = { error: new SseGapError(gap), at }
  }
}

function firstOf({ events, cursorMoves }: Batch, count: number): Batch {
  return { events: events.slice(0, count), cursorMoves: cursorMoves.filter(({ at }) => at < count) }
}
