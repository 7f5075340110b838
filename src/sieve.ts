import type { GapReason } from './errors.ts'
import { type Batch, cursorAfter, type SseEvent } from './event.ts'
import { IdFilter } from './id-filter.ts'
import type { Dedupe } from './layers/dedupe.ts'
import type { ReplayDetector } from './layers/replay.ts'

/** What became of one network read. */
export interface Sifted {
  /** What to deliver; the batch that came in when nothing was dropped. */
  batch: Batch
  /** Ids of the duplicates that were dropped, in order. */
  dropped: readonly string[]
  /** In order, one of a kind. `at`: how many of the delivered events come before it. */
  gaps: readonly { reason: GapReason; before: string; at: number }[]
}

const NONE: readonly never[] = []

interface Judgement {
  known: boolean
  reason?: GapReason
}

const NEWS: Judgement = { known: false }
const REPLAYED: Judgement = { known: true }

/** Layer 5 at work: lets through what was not delivered on an earlier connection, and tells replays from news. */
export class Sieve {
  readonly #dedupe: Dedupe
  readonly #replay: ReplayDetector
  #cursor: string | undefined
  /** The id in force. */
  #current: string | undefined
  /** The id in force at the last event that was delivered, or when the connection was opened. */
  #furthest: string | undefined
  #asked = false
  /** Ids that were delivered; as long as the set holds all of them, what it does not know is new for certain. */
  #delivered = 0
  #knowsAll = false
  #filter: IdFilter | undefined
  #news = false

  constructor(dedupe: Dedupe, replay: ReplayDetector) {
    this.#dedupe = dedupe
    this.#replay = replay
  }

  get size(): number {
    return this.#dedupe.size
  }

  seed(id: string): void {
    this.#dedupe.seed(id)
    this.#delivered++
  }

  /** A new connection. `cursor`: the id in force; `asked`: whether the request carried one. */
  connected(cursor: string | undefined, asked: boolean): void {
    this.#dedupe.connected()
    this.#knowsAll = this.#dedupe.size >= this.#delivered
    this.#replay.connected()
    this.#filter = this.#dedupe.armed
      ? new IdFilter([...this.#dedupe.ids(), ...this.#replay.ids()])
      : undefined
    this.#cursor = cursor
    this.#current = cursor
    this.#furthest = cursor
    this.#asked = asked
    this.#news = false
  }

  sift(batch: Batch): Sifted {
    const { events } = batch
    const filter = this.#filter
    if (filter === undefined || !this.#dedupe.armed) {
      this.#remember(events)
      return { batch, dropped: NONE, gaps: NONE }
    }
    const dropped: number[] = []
    const gaps: { reason: GapReason; before: string; at: number }[] = []
    for (let index = 0; index < events.length; index++) {
      const event = events[index] as SseEvent
      const { id } = event
      if (!id) continue
      if (!this.#replay.expects && !filter.mayHold(id)) {
        // Certainly new, and quickly told: how a resumed connection should go on.
        this.#news ||= isNews(event)
        continue
      }
      const { known, reason } = this.#judge(event, id)
      if (reason !== undefined && !gaps.some(gap => gap.reason === reason))
        gaps.push({ reason, before: id, at: index - dropped.length })
      if (known) dropped.push(index)
    }
    const kept = dropped.length > 0 ? this.#without(batch, dropped) : batch
    if (kept === batch) {
      if (events.length > 0) this.#furthest = cursorAfter(batch, events.length, false) ?? this.#current
      this.#current = cursorAfter(batch, events.length, true) ?? this.#current
    }
    this.#remember(kept.events)
    return { batch: kept, dropped: dropped.map(index => (events[index] as SseEvent).id as string), gaps }
  }

  #judge(event: SseEvent, id: string): Judgement {
    const judgement = this.#replay.judge(event, id)
    if (judgement === 'reused') {
      this.#dedupe.forget()
      this.#delivered = 0
      return { known: false, reason: 'ids-reused' }
    }
    const known = this.#dedupe.isDuplicate(event, id)
    if (judgement !== 'unknown' && !known && this.#knowsAll) {
      // The log lost its end before it went on.
      this.#replay.interrupt()
      this.#news ||= isNews(event)
      return NEWS
    }
    if (judgement === 'full-replay') return this.#asked ? { known: true, reason: 'cursor-ignored' } : REPLAYED
    if (judgement === 'unknown' && !known) {
      this.#news ||= isNews(event)
      return NEWS
    }
    if (id !== this.#cursor) return REPLAYED
    this.#dedupe.passedCursor()
    // News before the cursor's own event: the server started at a place of its own choice.
    return this.#news && this.#asked ? { known: true, reason: 'cursor-ignored' } : REPLAYED
  }

  /**
   * The batch less the events at `dropped`. Their ids move no cursor: what was delivered before lies behind it, and one
   * that went back with a long replay until that was cut off would ask for more events again than the set remembers.
   */
  #without({ events, cursorMoves }: Batch, dropped: readonly number[]): Batch {
    const kept: SseEvent[] = []
    const moves: Batch['cursorMoves'] = []
    const move = (id: string) => {
      moves.push({ id, at: kept.length })
      this.#current = id
    }
    let nextMove = 0
    let nextDropped = 0
    // The moves that stand whatever follows, and the id in force after them.
    let settled = 0
    let before = this.#current
    for (const [index, event] of events.entries()) {
      for (; cursorMoves[nextMove]?.at === index; nextMove++)
        move((cursorMoves[nextMove] as { id: string }).id)
      if (dropped[nextDropped] === index) {
        nextDropped++
        // The cursor's own event: here the replay ends, whatever it has brought that nobody could know.
        if (event.id === this.#cursor) this.#furthest = this.#cursor
        if (this.#furthest !== undefined) {
          // Blocks without data before it were replayed, too.
          moves.length = settled
          this.#current = before
          if (before !== this.#furthest) move(this.#furthest)
        }
      } else {
        kept.push(event)
        this.#current = event.id ?? this.#current
        this.#furthest = this.#current
      }
      settled = moves.length
      before = this.#current
    }
    for (const { id } of cursorMoves.slice(nextMove)) move(id)
    return { events: kept, cursorMoves: moves }
  }

  #remember(events: SseEvent[]): void {
    this.#delivered += this.#dedupe.remember(events)
    this.#replay.remember(events)
  }
}

/** An empty event is a greeting, with a new id on each connection: it says nothing of the place where that began. */
function isNews({ data }: SseEvent): boolean {
  return data !== ''
}
