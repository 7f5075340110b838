import type { DropReason, LifecycleEvent, SseStats, StreamState } from '../../index.ts'

/** The part of a stream that is looked at beside its lifecycle. */
export interface Watched {
  stats(): SseStats
  readonly lastEventId: string | undefined
}

type WaitReason = (LifecycleEvent & { type: 'wait' })['reason']

/** Everything that a live view shows, as of one moment. */
export interface View {
  state: StreamState
  /** How long the state has lasted, in milliseconds. */
  stateMs: number
  /** The time since the stream was first looked at. */
  totalMs: number
  /** Origin and path of the last dial. */
  url: string
  /** Dials of this outage. */
  attempt: number
  wait: { reason: WaitReason; leftMs: number } | undefined
  /** Why the stream is over. */
  closed: 'end' | 'closed' | 'aborted' | 'error' | undefined
  stats: SseStats
  eventsPerS: number
  bytesPerS: number
  lastId: string | undefined
  /** Since a byte was last seen to have come; undefined before the first. */
  lastByteMs: number | undefined
  /** Dials that followed a loss, or a dial that failed, by its cause. */
  reconnects: ReadonlyMap<DropReason, number>
  lastDrop: { reason: DropReason; text: string; agoMs: number } | undefined
  lastGap: string | undefined
}

/** Rates are means over this long: steady enough to be read, quick enough to follow a fault. */
const WINDOW_MS = 3_000

/** Draws conclusions from the lifecycle and the counters of one stream, and from nothing else. */
export class Watch {
  readonly #now: () => number
  readonly #startedAt: number
  #stream: Watched | undefined
  #state: StreamState = 'idle'
  #stateAt: number
  #url = ''
  #attempt = 0
  #wait: { reason: WaitReason; until: number } | undefined
  #closed: View['closed']
  /** The cause of the dial to come. */
  #cause: DropReason | undefined
  readonly #reconnects = new Map<DropReason, number>()
  #lastDrop: { reason: DropReason; text: string; at: number } | undefined
  #lastGap: string | undefined
  /** Oldest first, reaching back for the window and one more. */
  readonly #samples: { at: number; events: number; bytes: number }[] = []
  #byteAt: number | undefined

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#startedAt = now()
    this.#stateAt = this.#startedAt
  }

  /** The stream whose lifecycle this is told; nothing can be looked at before. */
  follow(stream: Watched): void {
    this.#stream = stream
    this.look()
  }

  tell(event: LifecycleEvent): void {
    const at = this.#now()
    switch (event.type) {
      case 'dial':
        this.#enter('connecting', at)
        this.#url = event.url
        this.#attempt = event.attempt
        if (this.#cause !== undefined)
          this.#reconnects.set(this.#cause, (this.#reconnects.get(this.#cause) ?? 0) + 1)
        this.#cause = undefined
        break
      case 'open':
        this.#enter('open', at)
        this.#url = event.url
        break
      case 'drop':
        this.#enter('connecting', at)
        this.#cause = event.reason
        this.#lastDrop = { reason: event.reason, text: event.error.message, at }
        break
      case 'wait':
        this.#enter('waiting', at)
        this.#wait = { reason: event.reason, until: at + event.delayMs }
        break
      case 'gap':
        this.#lastGap = event.reason
        break
      case 'close':
        this.#enter('closed', at)
        this.#closed = event.reason
        break
    }
  }

  /** Looks at the counters; ages and rates are as fine as the times between two looks. */
  look(): void {
    if (this.#stream === undefined) return
    const at = this.#now()
    const { events, bytes } = this.#stream.stats()
    if (bytes > (this.#samples.at(-1)?.bytes ?? 0)) this.#byteAt = at
    this.#samples.push({ at, events, bytes })
    while ((this.#samples[1]?.at ?? at) <= at - WINDOW_MS) this.#samples.shift()
  }

  /** Everything as of now; undefined before there is a stream. */
  view(): View | undefined {
    if (this.#stream === undefined) return undefined
    this.look()
    const at = this.#now()
    const stats = this.#stream.stats()
    const oldest = this.#samples[0] ?? { at, events: 0, bytes: 0 }
    // A short past makes wild rates.
    const pastS = Math.max(at - oldest.at, 1_000) / 1_000
    const over = this.#state === 'closed'
    return {
      state: this.#state,
      stateMs: at - this.#stateAt,
      totalMs: (over ? this.#stateAt : at) - this.#startedAt,
      url: this.#url,
      attempt: this.#attempt,
      wait: this.#wait && { reason: this.#wait.reason, leftMs: Math.max(0, this.#wait.until - at) },
      closed: this.#closed,
      stats,
      eventsPerS: over ? this.#mean(stats.events) : (stats.events - oldest.events) / pastS,
      bytesPerS: over ? this.#mean(stats.bytes) : (stats.bytes - oldest.bytes) / pastS,
      lastId: this.#stream.lastEventId,
      lastByteMs: this.#byteAt === undefined ? undefined : at - this.#byteAt,
      reconnects: this.#reconnects,
      lastDrop: this.#lastDrop && { ...this.#lastDrop, agoMs: at - this.#lastDrop.at },
      lastGap: this.#lastGap,
    }
  }

  #enter(state: StreamState, at: number): void {
    // Between two dials of an outage nothing changes for who looks on.
    if (state !== this.#state) this.#stateAt = at
    this.#state = state
    this.#wait = undefined
  }

  /** Over the whole life of the stream: what is left to say when it is over. */
  #mean(count: number): number {
    return count / (Math.max(this.#stateAt - this.#startedAt, 1) / 1_000)
  }
}
