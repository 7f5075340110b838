import { SseError } from '../errors.ts'

/** Layer 4, second half: whether to dial at all. */
export interface BreakerOptions {
  /** Failures in a row that open the breaker. 1 to 1,000,000. Default 6: with the default backoff, about 8 s of trouble. */
  threshold?: number | undefined
  /**
   * How long no dial is made after it opened, in milliseconds, jittered up by half. 1 to 3,600,000. Default 30,000.
   * Each probe that fails doubles it, to 5 minutes.
   */
  cooldownMs?: number | undefined
  /**
   * What a stream does when it meets the open breaker. `'auto'` (default): before its first successful open it throws
   * `SseCircuitOpenError` (a typo in a host name must not wait for ever in silence), afterwards it waits. `'wait'` and
   * `'throw'` do one of the two always.
   */
  onOpen?: 'auto' | 'wait' | 'throw' | undefined
}

export type ResolvedBreaker = { [Name in keyof BreakerOptions]-?: Exclude<BreakerOptions[Name], undefined> }

export const BREAKER_DEFAULTS = {
  threshold: 6,
  cooldownMs: 30_000,
  onOpen: 'auto',
} as const satisfies ResolvedBreaker

const MAX_COOLDOWN_MS = 300_000
const ON_OPEN: readonly unknown[] = ['auto', 'wait', 'throw']

export type BreakerState = 'closed' | 'open' | 'half-open'

/** May the asker dial? If not, it asks again after `retryInMs`, or when the breaker changes. */
export type Admission = { go: true } | { go: false; retryInMs: number }

/**
 * A circuit breaker: closed → open after `threshold` failures in a row → half-open, one probe after the cooldown →
 * closed on proof of health. Make one yourself and give it to many streams (`breaker: shared`) when they go to one
 * service: what one of them learns spares the others the dial.
 */
export class Breaker {
  readonly options: ResolvedBreaker
  #state: BreakerState = 'closed'
  #failures = 0
  #cooldownMs: number
  /** On the caller's monotonic clock. */
  #openUntil = 0
  /** Who holds the probe slot while half-open; others may take it when it was held for a whole cooldown. */
  #prober: object | undefined
  readonly #watchers = new Set<() => void>()
  readonly #random: () => number

  constructor(options: BreakerOptions = {}, random: () => number = Math.random) {
    this.options = { ...BREAKER_DEFAULTS, ...checked(options) } as ResolvedBreaker
    this.#cooldownMs = this.options.cooldownMs
    this.#random = random
  }

  get state(): BreakerState {
    return this.#state
  }

  /** Failures in a row, of all its streams together. */
  get failures(): number {
    return this.#failures
  }

  /** Milliseconds from `now` until a probe is let through; 0 when closed or due. */
  retryInMs(now: number): number {
    return this.#state === 'closed' ? 0 : Math.max(0, this.#openUntil - now)
  }

  /** Asks for permission to dial. With `force` the cooldown is cut short, for a user who knows better. */
  admit(asker: object, now: number, force = false): Admission {
    if (this.#state === 'closed' || this.#prober === asker) return { go: true }
    if (now < this.#openUntil && !force) return { go: false, retryInMs: this.#openUntil - now }
    this.#prober = asker
    this.#openUntil = now + this.#cooldownMs
    this.#change('half-open')
    return { go: true }
  }

  /** A failure that counts. Opens the breaker at the threshold, and at once when it was the probe that failed. */
  failed(asker: object, now: number): void {
    this.#failures++
    if (this.#prober === asker) {
      this.#cooldownMs = Math.min(this.#cooldownMs * 2, Math.max(MAX_COOLDOWN_MS, this.options.cooldownMs))
      this.#open(now)
    } else if (this.#state === 'closed' && this.#failures >= this.options.threshold) {
      this.#open(now)
    }
  }

  /** Proof of health: a new event, or bytes from a connection that has lived. */
  healthy(): void {
    this.#failures = 0
    this.#prober = undefined
    this.#cooldownMs = this.options.cooldownMs
    if (this.#state !== 'closed') this.#change('closed')
  }

  /** The asker goes away without a verdict (closed, or an answer that speaks of its request alone). */
  release(asker: object, now: number): void {
    if (this.#prober !== asker) return
    this.#prober = undefined
    this.#openUntil = now
    this.#change('open')
  }

  /** Calls `watcher` at each change of state until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #open(now: number): void {
    this.#prober = undefined
    // A quarter put the probes of 10,000 clients so close that a server which accepts 500 a second refused some of them.
    this.#openUntil = now + this.#cooldownMs * (1 + 0.5 * this.#random())
    this.#change('open')
  }

  #change(state: BreakerState): void {
    this.#state = state
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** What was given and is allowed. Checked here, because users make breakers of their own. */
function checked(options: BreakerOptions): BreakerOptions {
  if (typeof options !== 'object' || options === null) {
    throw new SseError('ERR_SSE_OPTION', `breaker: ${String(options)} is not an object of options`)
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  for (const [name, value] of given as [string, unknown][]) {
    const max = name === 'threshold' ? 1_000_000 : name === 'cooldownMs' ? 3_600_000 : 0
    const isNumber = typeof value === 'number' && value >= 1 && value <= max
    if (isNumber || (name === 'onOpen' && ON_OPEN.includes(value))) continue
    const allowed = max > 0 ? `a number from 1 to ${max}` : "'auto', 'wait' or 'throw'"
    const what = max > 0 || name === 'onOpen' ? `${shown(value)} is not ${allowed}` : 'no such option'
    throw new SseError('ERR_SSE_OPTION', `breaker.${name}: ${what}`)
  }
  return Object.fromEntries(given)
}

function shown(value: unknown): string {
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
