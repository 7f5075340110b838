/** Layer 4, first half: how long to wait before the next dial. */
export interface BackoffOptions {
  /**
   * The delay before the first retry, in milliseconds, before jitter. 0 to 3,600,000. Default 500: long enough for a
   * process to be replaced, short enough to go unnoticed. 0 frees the first retry only; the ones after it start at 500.
   */
  baseMs?: number | undefined
  /** The longest delay before jitter, in milliseconds. 1 to 3,600,000. Default 16,000 (the sixth failure in a row), or `baseMs` if longer. */
  maxMs?: number | undefined
  /** Growth per failure. 1 to 10. Default 2. */
  factor?: number | undefined
  /**
   * How delays are spread, so that clients that lost the same server do not come back together. Default `'full'`:
   * U(0, delay), the least contention for the least waiting [M. Brooker, "Exponential Backoff And Jitter", 2015].
   * `'equal'`: U(delay/2, delay). `'decorrelated'`: U(base, 3 × previous). A number j from 0 to 1: delay ± j·delay.
   */
  jitter?: 'full' | 'equal' | 'decorrelated' | number | undefined
  /**
   * Bytes that come this long after a connection was opened prove that it is healthy and reset the count of failures.
   * Milliseconds, 0 to 3,600,000. Default 10,000. A 200 alone proves nothing: flapping servers send one each time.
   */
  resetAfterMs?: number | undefined
  /** Failures in a row before the last error is thrown. 1 to Infinity. Default Infinity: streams are meant to last. */
  maxAttempts?: number | undefined
  /**
   * What `retry:` means to this client. `'floor'` (default): the least wait, spread upwards by as much again, so that the
   * clients of a server that ends all its streams at once do not come back together. `'exact'`: that wait and at most
   * 100 ms more, for servers that end a stream on purpose and count on a prompt poll, as those of MCP do (SEP-1699).
   */
  retry?: 'floor' | 'exact' | undefined
}

export type ResolvedBackoff = { [Name in keyof BackoffOptions]-?: Exclude<BackoffOptions[Name], undefined> }

export const BACKOFF_DEFAULTS = {
  baseMs: 500,
  maxMs: 16_000,
  factor: 2,
  jitter: 'full',
  resetAfterMs: 10_000,
  maxAttempts: Number.POSITIVE_INFINITY,
  retry: 'floor',
} as const satisfies ResolvedBackoff

/** What a server may ask for at most, by `retry:` or Retry-After: an hour. */
export const MAX_SERVER_DELAY_MS = 3_600_000
/** What `retry: 0` means: a poll may be quick, but it must never be a loop. */
const MIN_SERVER_DELAY_MS = 100
/** How far polls at an exact pace are spread. */
const EXACT_SPREAD_MS = 100

/** A delay that a server asked for, brought into the range that a timer and a user can live with. */
export function clampServerDelay(ms: number): number {
  return Math.min(Math.max(ms, MIN_SERVER_DELAY_MS), MAX_SERVER_DELAY_MS)
}

/** The delay after `failures` failures in a row, before jitter. */
export function nominalDelay(failures: number, options: ResolvedBackoff): number {
  const { baseMs, maxMs, factor } = options
  if (baseMs > 0) return Math.min(maxMs, baseMs * factor ** Math.max(0, failures - 1))
  return failures <= 1 ? 0 : Math.min(maxMs, BACKOFF_DEFAULTS.baseMs * factor ** (failures - 2))
}

/** What {@link jitteredDelay} decides from. */
export interface DelayInput {
  /** Failures in a row; 0 after an end that brought something new. */
  failures: number
  /** The least that the server asked for (`retry:`, Retry-After), in milliseconds; 0 when it did not ask. */
  floorMs: number
  /** The delay before this one, for `'decorrelated'`. */
  previousMs: number
}

/**
 * The wait before the next dial. A floor is never undercut, and is jittered upwards by as much again, so that a deploy
 * that politely ends 10,000 streams does not meet them all in one instant.
 */
export function jitteredDelay(input: DelayInput, options: ResolvedBackoff, random: () => number): number {
  const nominal = nominalDelay(input.failures, options)
  const { jitter, maxMs, baseMs } = options
  if (input.floorMs > 0) {
    if (jitter === 0) return Math.max(input.floorMs, nominal)
    // From the second failure in a row on, an exact pace too is only a floor for the delays that grow.
    const isExact = options.retry === 'exact' && input.failures <= 1
    return input.floorMs + random() * (isExact ? EXACT_SPREAD_MS : Math.max(input.floorMs, nominal))
  }
  if (nominal === 0) return 0
  if (jitter === 'full') return random() * nominal
  if (jitter === 'equal') return nominal / 2 + (random() * nominal) / 2
  if (jitter === 'decorrelated') {
    const low = baseMs || BACKOFF_DEFAULTS.baseMs
    const high = 3 * Math.max(low, input.previousMs)
    return Math.min(maxMs, low + random() * (high - low))
  }
  return nominal * (1 - jitter + 2 * jitter * random())
}

/** The count of failures of one stream, and the waits that follow from it. */
export class Backoff {
  /** Failures in a row since the last proof of health. */
  failures = 0
  /** The stream's reconnection time from the last valid `retry:` field, in milliseconds; 0 before one came. */
  retryMs = 0
  #previousMs = 0
  readonly #options: ResolvedBackoff | false
  readonly #random: () => number

  constructor(options: ResolvedBackoff | false, random: () => number) {
    this.#options = options
    this.#random = random
  }

  get exhausted(): boolean {
    return this.#options !== false && this.failures >= this.#options.maxAttempts
  }

  get resetAfterMs(): number {
    return this.#options === false ? BACKOFF_DEFAULTS.resetAfterMs : this.#options.resetAfterMs
  }

  get maxMs(): number {
    return this.#options === false ? 0 : this.#options.maxMs
  }

  /** A `retry:` field. It holds for the rest of the stream. */
  serverAsked(ms: number): void {
    this.retryMs = clampServerDelay(ms)
  }

  healthy(): void {
    this.failures = 0
    this.#previousMs = 0
  }

  /** `floorMs`: what this one wait must not undercut, beside `retry:`. */
  nextDelay(floorMs: number): number {
    if (this.#options === false) return 0
    const floor = Math.max(floorMs, this.retryMs)
    const delay = jitteredDelay(
      { failures: this.failures, floorMs: floor, previousMs: this.#previousMs },
      this.#options,
      this.#random,
    )
    this.#previousMs = delay
    return Math.round(delay)
  }
}
