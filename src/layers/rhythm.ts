const AUTO_UNKNOWN_MS = 120_000
const AUTO_LEAST_MS = 30_000
/** A comment gap with events in it says little about the rhythm of a server that comments only when idle. */
const BUSY_GAP_LIMIT_MS = 60_000

/** Part of layer 2: what a stream has learned about its server's comments. It outlives connections. */
export class Rhythm {
  #comments = 0
  #longestGapMs = 0
  #lastAt: number | undefined
  #busy = false

  comment(now: number): void {
    this.#comments++
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

  get timeoutMs(): number {
    if (this.#comments < 2 || this.#longestGapMs === 0) return AUTO_UNKNOWN_MS
    return Math.max(AUTO_LEAST_MS, 2 * this.#longestGapMs)
  }
}
