/** Layer 2: the watchdog over silence. */
export interface HeartbeatOptions {
  /**
   * How long no byte may come while a read is pending, in milliseconds. 50 to 86,400,000, or `'auto'` (default): 120 s
   * until two comments were seen, then max(30 s, 2 × the longest gap between comments), so that a server with the
   * usual 15 s heartbeat is judged after 30 s. Any byte counts. 0 is off, like `heartbeat: false`. A function is asked at
   * each look, about once a second, and may answer 0; where it throws, or answers no such number, `'auto'` holds.
   */
  timeoutMs?: 'auto' | number | ((rhythm: KnownRhythm) => number) | undefined
  /** How long comments may go on without any event, in milliseconds; for servers whose data can die alone. Default off. */
  eventTimeoutMs?: number | undefined
  /** Asks the other side to speak before the timeout, when the application has a way to. Default none. */
  probe?: ProbeOptions | undefined
}

/** What is known of a server's comments, for a `timeoutMs` function. */
export interface KnownRhythm {
  /** What `'auto'` would say, in milliseconds. */
  autoMs: number
  /** Whether that was learned from comments: two at least, on one connection. */
  learned: boolean
}

export interface ProbeOptions {
  /** Silence before the probe, in milliseconds. 10 to 3,600,000. Default 10,000. */
  afterMs?: number | undefined
  /** How long a byte may take to come after it, in milliseconds. 10 to 3,600,000. Default 3,000. */
  timeoutMs?: number | undefined
  /** Makes the server write something to this stream (a ping request, say). Its own failure proves nothing. */
  send: (signal: AbortSignal) => unknown
}

export type ResolvedProbe = { [Name in keyof ProbeOptions]-?: Exclude<ProbeOptions[Name], undefined> }

export interface ResolvedHeartbeat {
  timeoutMs: 'auto' | number | ((rhythm: KnownRhythm) => number)
  eventTimeoutMs: number
  probe: ResolvedProbe | undefined
}

export const HEARTBEAT_DEFAULTS = { timeoutMs: 'auto', eventTimeoutMs: 0 } as const satisfies HeartbeatOptions
export const PROBE_DEFAULTS = { afterMs: 10_000, timeoutMs: 3_000 } as const

const AUTO_UNKNOWN_MS = 120_000
const AUTO_LEAST_MS = 30_000
/** A comment gap with events in it says little about the rhythm of a server that comments only when idle. */
const BUSY_GAP_LIMIT_MS = 60_000

/** What a stream has learned about its server's comments. It outlives connections. */
export class Rhythm {
  #longestGapMs = 0
  #lastAt: number | undefined
  #busy = false

  comment(now: number): void {
    if (this.#lastAt !== undefined) {
      const gap = now - this.#lastAt
      this.#longestGapMs = Math.max(this.#longestGapMs, this.#busy ? Math.min(gap, BUSY_GAP_LIMIT_MS) : gap)
    }
    this.#lastAt = now
    this.#busy = false
  }

  /** Events came since the last comment. */
  event(): void {
    this.#busy = true
  }

  /** The next gap would measure something else than the server: a new connection, a consumer at work. */
  interrupt(): void {
    this.#lastAt = undefined
  }

  get longestGapMs(): number {
    return this.#longestGapMs
  }

  /** Whether the comments have shown a rhythm. */
  get learned(): boolean {
    return this.#longestGapMs > 0
  }

  get timeoutMs(): number {
    if (!this.learned) return AUTO_UNKNOWN_MS
    return Math.max(AUTO_LEAST_MS, 2 * this.#longestGapMs)
  }
}

/** The patience without a hint, in milliseconds; 0 is endless. */
export function patienceOf({ timeoutMs }: ResolvedHeartbeat, rhythm: Rhythm): number {
  const { timeoutMs: autoMs, learned } = rhythm
  if (typeof timeoutMs !== 'function') return timeoutMs === 'auto' ? autoMs : timeoutMs
  // One timer looks at all streams: what the function of one throws must not end the look at the others.
  try {
    const answer: unknown = timeoutMs({ autoMs, learned })
    if (typeof answer === 'number' && answer >= 0) return answer
    Promise.resolve(answer).catch(() => {})
  } catch {}
  return autoMs
}
