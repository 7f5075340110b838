import { SseHeartbeatError } from '../errors.ts'

/** Layer 2: the watchdog over silence. */
export interface HeartbeatOptions {
  /**
   * How long no byte may come while a read is pending, in milliseconds. 50 to 86,400,000, or `'auto'` (default): 120 s
   * until two comments were seen, then max(30 s, 2 × the longest gap between comments), so that a server with the
   * usual 15 s heartbeat is judged after 30 s. Any byte counts. 0 is off, like `heartbeat: false`.
   */
  timeoutMs?: 'auto' | number
  /** How long comments may go on without any event, in milliseconds; for servers whose data can die alone. Default off. */
  eventTimeoutMs?: number
  /** Asks the other side to speak before the timeout, when the application has a way to. Default none. */
  probe?: ProbeOptions
}

export interface ProbeOptions {
  /** Silence before the probe, in milliseconds. 10 to 3,600,000. Default 10,000. */
  afterMs?: number
  /** How long a byte may take to come after it, in milliseconds. 10 to 3,600,000. Default 3,000. */
  timeoutMs?: number
  /** Makes the server write something to this stream (a ping request, say). Its own failure proves nothing. */
  send: (signal: AbortSignal) => unknown
}

export interface ResolvedHeartbeat {
  timeoutMs: 'auto' | number
  eventTimeoutMs: number
  probe: Required<ProbeOptions> | undefined
}

export const HEARTBEAT_DEFAULTS = { timeoutMs: 'auto', eventTimeoutMs: 0 } as const satisfies HeartbeatOptions
export const PROBE_DEFAULTS = { afterMs: 10_000, timeoutMs: 3_000 } as const

/** After a hint (see {@link Watchdog.hint}) the benefit of the doubt shrinks to this. */
const HINT_PATIENCE_MS = 5_000
/** What a stream has learned about its server's comments. */
export interface CommentRhythm {
  /** 0 before two comments came. */
  readonly longestGapMs: number
  /** The patience that `'auto'` derives. */
  readonly timeoutMs: number
  /** The next gap would measure something else than the server. */
  interrupt(): void
}

export interface WatchdogEvents {
  /** The silence was noticed, but is not yet called death. */
  stall(phase: 'hint' | 'probe', silentMs: number): void
  /** The connection is dead. */
  dead(error: SseHeartbeatError): void
}

/**
 * Watches one connection. The reader sets flags (one store per chunk) and a coarse timer shared by all streams looks at
 * them: a setTimeout and clearTimeout per read cost 231 ns, a flag 2 ns.
 */
export class Watchdog {
  /** Set by the reader while a read is pending: silence is the consumer's own doing otherwise. */
  reading = false
  /** Set by the reader when any byte came. */
  sawBytes = false
  /** Set by the reader when an event came. */
  sawEvents = false

  #silentMs = 0
  #eventlessMs = 0
  #everSawBytes = false
  #hinted = false
  #probedAtMs: number | undefined
  #probe: AbortController | undefined
  readonly #options: ResolvedHeartbeat
  readonly #rhythm: CommentRhythm
  readonly #events: WatchdogEvents

  constructor(options: ResolvedHeartbeat, rhythm: CommentRhythm, events: WatchdogEvents) {
    this.#options = options
    this.#rhythm = rhythm
    this.#events = events
  }

  /** The patience in force, in milliseconds; 0 is endless. */
  get timeoutMs(): number {
    const { timeoutMs } = this.#options
    const patience = timeoutMs === 'auto' ? this.#rhythm.timeoutMs : timeoutMs
    // A known rhythm is respected even after a hint: a 15 s heartbeat is not dead after 5 s.
    return this.#hinted
      ? Math.min(patience, Math.max(HINT_PATIENCE_MS, 1.25 * this.#rhythm.longestGapMs))
      : patience
  }

  /** How often this watchdog wants to be looked at, in milliseconds: a tenth of its shortest patience, 20 to 1,000. */
  get periodMs(): number {
    const { timeoutMs, eventTimeoutMs, probe } = this.#options
    const waits = [timeoutMs, eventTimeoutMs, probe?.afterMs, probe?.timeoutMs].filter(
      ms => typeof ms === 'number' && ms > 0,
    )
    return Math.min(1_000, Math.max(20, Math.min(...(waits as number[])) / 10))
  }

  /** The machine slept, or lost an address that it had when this connection was made: the path may be gone. */
  hint(): void {
    if (this.#hinted || !this.reading) return
    this.#hinted = true
    this.#events.stall('hint', this.#silentMs)
    this.#silentMs = 0
    if (this.#options.probe !== undefined) this.#sendProbe(this.#options.probe)
  }

  /** One look, `elapsedMs` after the last one. Returns whether the connection is to be judged dead now. */
  look(elapsedMs: number): boolean {
    if (this.sawBytes || !this.reading) {
      if (!this.reading) this.#rhythm.interrupt()
      this.#everSawBytes ||= this.sawBytes
      this.#silentMs = 0
      this.#hinted = false
      this.#probedAtMs = undefined
      this.sawBytes = false
    } else {
      this.#silentMs += elapsedMs
    }
    this.#eventlessMs = this.sawEvents || !this.reading ? 0 : this.#eventlessMs + elapsedMs
    this.sawEvents = false

    const { probe } = this.#options
    if (probe !== undefined && this.#probedAtMs === undefined && this.#silentMs >= probe.afterMs)
      this.#sendProbe(probe)
    const probeFailed =
      probe !== undefined &&
      this.#probedAtMs !== undefined &&
      this.#silentMs - this.#probedAtMs >= probe.timeoutMs
    const timeoutMs = this.timeoutMs
    return probeFailed || (timeoutMs > 0 && this.#silentMs >= timeoutMs) || this.#isEventless
  }

  /** Declares death, unless bytes arrived in the poll phase since {@link look}. */
  judge(): void {
    // Comments that never pause must not put off the verdict on dead data.
    if (!this.reading || (this.#isEventless ? this.sawEvents : this.sawBytes)) return
    this.stop()
    this.#events.dead(this.#verdict())
  }

  stop(): void {
    this.#probe?.abort()
    this.#probe = undefined
  }

  get #isEventless(): boolean {
    const { eventTimeoutMs } = this.#options
    return eventTimeoutMs > 0 && this.#eventlessMs >= eventTimeoutMs
  }

  #sendProbe(probe: Required<ProbeOptions>): void {
    this.#probedAtMs = this.#silentMs
    this.#probe = new AbortController()
    this.#events.stall('probe', this.#silentMs)
    // Whatever becomes of the probe itself, only a byte on the stream counts.
    const { signal } = this.#probe
    new Promise(resolve => resolve(probe.send(signal))).catch(() => {})
  }

  #verdict(): SseHeartbeatError {
    if (this.#isEventless && this.#silentMs < this.#eventlessMs) {
      return new SseHeartbeatError(
        `No event for ${seconds(this.#eventlessMs)} s, only comments`,
        this.#eventlessMs,
      )
    }
    const silence = `${seconds(this.#silentMs)} s`
    return this.#everSawBytes
      ? new SseHeartbeatError(`No byte for ${silence}, although the connection is open`, this.#silentMs)
      : new SseHeartbeatError(
          `No first byte within ${silence} of the headers; a proxy on the way may be buffering the stream`,
          this.#silentMs,
        )
  }
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)
}
