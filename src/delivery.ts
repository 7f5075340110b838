import { refuseOption } from './checks.ts'
import { SseError } from './errors.ts'
import { type Batch, CursorWalk, cursorAfter, type SseEvent } from './event.ts'

/** Where the batches come from, and where handled ids go. */
export interface Source {
  /** The next batch with events, or with `everyRead` the next at all; `undefined` is the end. */
  pull(everyRead: boolean): Promise<Batch | undefined>
  /** The consumer is done with everything up to this id. */
  handled(id: string): void
  close(): Promise<void>
  isOver(): boolean
}

const EMPTY: Batch = { events: [], cursorMoves: [] }
const DONE = { done: true, value: undefined } as const

/** An event that was handed out and not acknowledged, and the cursor that its acknowledgement allows. */
interface Pending {
  id: string | undefined
  acked: boolean
}

/**
 * Hands batches out to the one consumer, event by event or whole. Written by hand, not as a generator: `return()` on a
 * generator queues behind its pending read and hangs, and events of one batch need no await between them.
 */
export class Delivery {
  #batch = EMPTY
  /** Events of the batch that were handed out. */
  #index = 0
  /** The cursor in force before the batch. */
  #before: string | undefined
  /** The cursor within the batch: of what was handed out, and of what is settled by that. Made when asked for. */
  #handedOut: CursorWalk | undefined
  #settled: CursorWalk | undefined
  #taken = false
  #queued = 0
  #tail: Promise<unknown> = Promise.resolve()
  readonly #source: Source
  /** Whether handing out has to be followed event by event: somebody stores the cursor. */
  readonly #tracking: 'next' | 'manual' | false
  /** `ack: 'manual'`: in the order of handing out. */
  readonly #unacked: Pending[] = []
  readonly #pendingOf = new WeakMap<object, Pending>()

  constructor(source: Source, tracking: 'next' | 'manual' | false) {
    this.#source = source
    this.#tracking = tracking
  }

  /** [spec] the last event ID of the last event handed out; `''` when it was emptied, `undefined` before any. */
  get lastEventId(): string | undefined {
    this.#handedOut ??= new CursorWalk(this.#batch)
    return this.#handedOut.after(this.#index, false) ?? this.#before
  }

  seed(id: string | undefined): void {
    this.#before = id
  }

  readonly #next = (): Promise<IteratorResult<SseEvent, undefined>> => {
    const event = this.#queued === 0 ? this.#handOutEvent() : undefined
    if (event === undefined) return this.#inTurn(() => this.#takeNext(() => this.#handOutEvent()))
    return Promise.resolve(item(event))
  }

  #nextBatch(): Promise<IteratorResult<SseEvent[], undefined>> {
    return this.#inTurn(() => this.#takeNext(() => this.#handOutRest()))
  }

  events(): AsyncIterableIterator<SseEvent, undefined> {
    return this.#take(this.#next)
  }

  batches(): AsyncIterableIterator<SseEvent[], undefined> {
    return this.#take(() => this.#nextBatch())
  }

  /** Each read as it is, also one without events; for adapters that hand on more than events. Nothing is acknowledged. */
  reads(): AsyncIterableIterator<Batch, undefined> {
    return this.#take(() => this.#inTurn(() => this.#nextRead()))
  }

  async #nextRead(): Promise<IteratorResult<Batch, undefined>> {
    for (;;) {
      const batch = await this.#source.pull(true)
      if (batch === undefined) return DONE
      if (this.#source.isOver()) continue
      this.#before = cursorAfter(batch, batch.events.length, true) ?? this.#before
      return item(batch)
    }
  }

  /** Makes the one iterator that this stream has. */
  #take<Item>(next: () => Promise<IteratorResult<Item, undefined>>): AsyncIterableIterator<Item, undefined> {
    if (this.#source.isOver()) throw new SseError('ERR_SSE_CLOSED', 'The stream is over; make a new one')
    if (this.#taken) {
      throw new SseError(
        'ERR_SSE_LOCKED',
        'The stream has a consumer already; make another stream for another loop',
      )
    }
    this.#taken = true
    const iterator = {
      next,
      return: async () => {
        await this.#source.close()
        return DONE
      },
      [Symbol.asyncIterator]: () => iterator,
      [Symbol.asyncDispose]: () => this.#source.close(),
    }
    return iterator
  }

  /** The stream is over: what was read and not yet handed out stays out. */
  discard(): void {
    this.#before = this.lastEventId
    this.#begin(EMPTY)
  }

  /** The cursor moved without an event: an id-only block, or a read that held duplicates only. */
  moved(id: string): void {
    this.#before = id
    this.#follows(id)
  }

  /** This id needs no event: it is handled as soon as all before it is. */
  #follows(id: string): void {
    const last = this.#unacked.at(-1)
    if (last !== undefined) last.id = id
    else if (this.#tracking !== false) this.#source.handled(id)
  }

  /** `copy` is what the consumer was given for `event`, and what it will acknowledge. */
  standsFor(copy: object, event: SseEvent): void {
    const pending = this.#pendingOf.get(event)
    if (pending !== undefined) this.#pendingOf.set(copy, pending)
  }

  ack(event: object): void {
    const pending = this.#pendingOf.get(event)
    if (pending === undefined) {
      refuseOption('ack', "not an event that this stream handed out with resume: { ack: 'manual' }")
    }
    pending.acked = true
    let done = 0
    let id: string | undefined
    while (this.#unacked[done]?.acked) id = this.#unacked[done++]?.id ?? id
    this.#unacked.splice(0, done)
    if (id !== undefined) this.#source.handled(id)
  }

  /** Calls of `next()` that were made together are answered in order. */
  #inTurn<Result>(take: () => Promise<Result>): Promise<Result> {
    this.#queued++
    const turn = this.#tail.then(take)
    const leave = () => {
      this.#queued--
    }
    this.#tail = turn.then(leave, leave)
    return turn
  }

  /** Takes from a new batch when this one is used up. */
  async #takeNext<Item>(handOut: () => Item | undefined): Promise<IteratorResult<Item, undefined>> {
    for (;;) {
      const taken = handOut()
      if (taken !== undefined) return item(taken)
      const settled =
        this.#tracking === false
          ? cursorAfter(this.#batch, this.#index, true)
          : this.#settledAfter(this.#index)
      if (settled !== undefined) this.#before = settled
      if (this.#tracking === 'next' && settled !== undefined) this.#source.handled(settled)
      this.#begin(EMPTY)
      const batch = await this.#source.pull(false)
      if (batch === undefined) return DONE
      // The stream may have ended in the very moment in which this came: then the next pull tells how.
      if (!this.#source.isOver()) this.#begin(batch)
    }
  }

  #begin(batch: Batch): void {
    this.#batch = batch
    this.#index = 0
    this.#handedOut = undefined
    this.#settled = undefined
  }

  /** The cursor in force after the first `count` events of the batch and what follows them. */
  #settledAfter(count: number): string | undefined {
    this.#settled ??= new CursorWalk(this.#batch)
    return this.#settled.after(count, true)
  }

  #handOutEvent(): SseEvent | undefined {
    const event = this.#batch.events[this.#index]
    if (event === undefined) return undefined
    if (this.#tracking !== false) this.#track(event)
    this.#index++
    return event
  }

  #handOutRest(): SseEvent[] | undefined {
    const events = this.#index === 0 ? this.#batch.events : this.#batch.events.slice(this.#index)
    const [first] = events
    if (first === undefined) return undefined
    if (this.#tracking === 'next') this.#track(first)
    for (const event of this.#tracking === 'manual' ? events : []) {
      this.#track(event)
      this.#index++
    }
    this.#index = this.#batch.events.length
    return events
  }

  /** Called just before `event` is handed out. */
  #track(event: SseEvent): void {
    if (this.#tracking === 'manual') {
      const ahead = this.#index === 0 ? this.#settledAfter(0) : undefined
      if (ahead !== undefined) this.#follows(ahead)
      const pending = { id: this.#settledAfter(this.#index + 1), acked: false }
      this.#unacked.push(pending)
      this.#pendingOf.set(event, pending)
      return
    }
    // Asking for this one says that the one before it is done.
    const id = this.#settledAfter(this.#index)
    if (id !== undefined) this.#source.handled(id)
  }
}

/** In this order: an object of the shape that the engine gives its own iterators is not searched for `then` (14 ns an event). */
function item<Item>(value: Item): IteratorYieldResult<Item> {
  return { value, done: false }
}
