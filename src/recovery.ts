import { refuseOption } from './checks.ts'
import { SseCircuitOpenError, SseError } from './errors.ts'
import type { Failure, Progress } from './failure.ts'
import { Backoff, clampServerDelay } from './layers/backoff.ts'
import { callSafely, ignoreRejection, type Lifecycle } from './lifecycle.ts'
import { machine } from './machine.ts'
import type { ResolvedOptions } from './options.ts'
import { dropReason } from './outcome.ts'
import type { Pause } from './pause.ts'

/** The end was clean and asks for nothing more. */
export const ENDED = Symbol('ended')

/** Some frameworks withhold the headers until there is an event: the limit on them grows to this. */
const MAX_OPEN_TIMEOUT_MS = 300_000
/** A server that keeps ending fresh connections is asked once a second, unless its `retry:` sets another pace. */
const LEAST_POLL_MS = 1_000

/** Layer 4 at work: after each failure, whether to dial again and when; before each dial, whether the breaker agrees. */
export class Recovery {
  readonly backoff: Backoff
  everOpened = false
  /** From the dial to the headers. */
  openTimeoutMs: number
  #refreshed = false
  /** Whether the present connection has proved its health. */
  #healthy = false
  /** Failures that were forgiven for the age of the connection alone: its silence brings them back. */
  #doubtful = 0
  /** `reconnect()` was called while waiting: the next dial goes out even through an open breaker. */
  #forced = false
  /** What the server asked for holds, too, when another stream closes a shared breaker early. */
  #notBefore = 0
  /** Connections in a row that broke within a second, with one event at most. */
  #flaps = 0
  #lastError: SseError | undefined
  /** Who this stream is to the breaker. */
  readonly #asker: object
  readonly #options: ResolvedOptions
  readonly #lifecycle: Lifecycle
  readonly #pause: Pause

  constructor(options: ResolvedOptions, lifecycle: Lifecycle, pause: Pause) {
    this.#asker = options.dialledAs ?? this
    this.#options = options
    this.openTimeoutMs = options.openTimeoutMs
    this.#lifecycle = lifecycle
    this.#pause = pause
    this.backoff = new Backoff(options.backoff, () => Math.random())
  }

  opened(): void {
    this.everOpened = true
    this.#refreshed = false
    this.#healthy = false
    this.#doubtful = 0
  }

  /**
   * A read was successful. Proof of health is an id never seen before, or bytes of a connection that has lived; a 200, a
   * comment or a priming event is none: flapping servers send them each time.
   */
  received(progress: Progress, openedAt: number): void {
    if (progress === 'news') this.#doubtful = 0
    if (this.#healthy) return
    this.#healthy = progress === 'news' || performance.now() - openedAt >= this.backoff.resetAfterMs
    if (!this.#healthy) return
    if (progress !== 'news') this.#doubtful = this.backoff.failures
    this.backoff.healthy()
    if (this.#options.breaker) this.#options.breaker.healthy()
  }

  /** A `retry:` field. */
  serverAsked(ms: number): void {
    this.backoff.serverAsked(ms)
    callSafely(this.#options.onRetry, ms)
  }

  /** Tells what becomes of the breaker, until the returned function is called: then a probe slot is given back, too. */
  begin(): () => void {
    const { breaker } = this.#options
    if (breaker === false) return () => {}
    const unwatch = breaker.watch(() => {
      const { state, failures } = breaker
      const retryAt =
        state === 'open' ? Math.round(Date.now() + breaker.retryInMs(performance.now())) : undefined
      this.#lifecycle.tell('circuit', { state, failures, retryAt })
    })
    return () => {
      unwatch()
      breaker.release(this.#asker, performance.now())
    }
  }

  /** Resolves when it is time to dial again. Throws the error that ends the stream, or {@link ENDED}. */
  async afterFailure(failure: Failure, lastEventId: string | undefined): Promise<void> {
    const { error } = failure
    if (error.code === 'ERR_SSE_CIRCUIT_OPEN') throw error
    if (error.code === 'ERR_SSE_ROTATED') return
    const cleanEnd = isCleanEnd(failure)
    if (cleanEnd && !(this.#options.reconnectOnEnd && this.#options.repeatable)) throw ENDED
    if (this.#mayRefresh(error)) return

    const counts = !cleanEnd || failure.progress === 'nothing'
    this.#askUser(error, counts)
    if (counts) this.#count(failure)
    if (!error.retryable) throw error
    if (!this.#options.repeatable && (failure.opened || failure.written))
      throw notResent(this.#options.method, error)
    if (counts && this.backoff.exhausted) throw error
    this.#throwIfCircuitEndsIt(lastEventId)
    await this.#wait(failure)
  }

  /** `isRetryable` has the last word. */
  #askUser(error: SseError, counts: boolean): void {
    const failures = this.backoff.failures + (counts ? 1 : 0)
    const verdict: unknown = this.#options.isRetryable?.(error, { failures, everOpened: this.everOpened })
    if (verdict === undefined) return
    if (typeof verdict !== 'boolean') {
      ignoreRejection(verdict)
      refuseOption('isRetryable', 'returned neither true, false nor undefined (a promise is none)')
    }
    error.retryable = verdict
  }

  /** Resolves when the breaker lets this stream dial. */
  async admission(lastEventId: string | undefined): Promise<void> {
    const { breaker, dialledAs } = this.#options
    if (breaker === false || (dialledAs !== undefined && !this.everOpened)) return
    for (;;) {
      const admission = breaker.admit(this.#asker, performance.now(), this.#forced)
      this.#forced = false
      if (admission.go) return
      this.#throwIfCircuitEndsIt(lastEventId)
      const over = this.#pause.wait(admission.retryInMs, wake => breaker.watch(wake))
      this.#forced = await this.#told(over, admission.retryInMs, 'circuit')
      // Those who waited for a shared breaker must not all leave in one instant.
      if (breaker.state !== 'closed') continue
      const spreadMs = Math.random() * this.backoff.maxMs
      await this.#pause.wait(Math.max(spreadMs, this.#notBefore - performance.now()))
    }
  }

  /** One more dial for fresh credentials, once per successful open. */
  #mayRefresh(error: SseError): boolean {
    const stale = error.code === 'ERR_SSE_HTTP' && 'status' in error && error.status === 401
    if (!stale || this.#refreshed || typeof this.#options.headers !== 'function') return false
    this.#refreshed = true
    return this.#options.repeatable
  }

  #count({ error, written }: Failure): void {
    this.#lastError = error
    this.backoff.failures++
    if (error.code === 'ERR_SSE_HEARTBEAT') this.backoff.failures += this.#doubtful
    this.#doubtful = 0
    const headersWithheld = error.code === 'ERR_SSE_OPEN_TIMEOUT' && written
    if (headersWithheld && this.openTimeoutMs < MAX_OPEN_TIMEOUT_MS) {
      this.openTimeoutMs = Math.min(2 * this.openTimeoutMs, MAX_OPEN_TIMEOUT_MS)
    }
    const { breaker } = this.#options
    if (breaker === false) return
    // An answer that speaks of this request alone says nothing about the service; nor do headers that are withheld.
    if (!error.retryable || headersWithheld) breaker.release(this.#asker, performance.now())
    else breaker.failed(this.#asker, performance.now())
  }

  #throwIfCircuitEndsIt(lastEventId: string | undefined): void {
    const { breaker } = this.#options
    if (breaker === false || breaker.state === 'closed') return
    const { onOpen } = breaker.options
    if (onOpen === 'wait' || (onOpen === 'auto' && this.everOpened)) return
    throw new SseCircuitOpenError({
      failures: breaker.failures,
      retryAt: Math.round(Date.now() + breaker.retryInMs(performance.now())),
      lastEventId,
      cause: this.#lastError,
    })
  }

  async #wait(failure: Failure): Promise<void> {
    const { retryAfterMs } = failure.error
    // After data without ids a clean end is no failure, and `retry:` alone must not make a loop of it.
    const leastMs = isCleanEnd(failure) && failure.progress === 'data' ? LEAST_POLL_MS : 0
    const floorMs = Math.max(leastMs, retryAfterMs === undefined ? 0 : clampServerDelay(retryAfterMs))
    const delayMs = this.backoff.nextDelay(floorMs) + this.#pace(failure)
    const { breaker } = this.#options
    const now = performance.now()
    this.#notBefore = now + delayMs
    // The breaker's own wait is longer and comes next.
    if (breaker !== false && breaker.state === 'open' && breaker.retryInMs(now) > delayMs) return
    const reason = retryAfterMs !== undefined ? 'retry-after' : this.backoff.retryMs > 0 ? 'retry' : 'backoff'
    this.#forced = await this.#told(this.#pause.wait(delayMs), delayMs, reason)
  }

  /**
   * What keeps a flapping server from being dialled in a loop although each connection brings something new: without a
   * pace of its own (`retry:`), connections that end at once are not begun more than once a second.
   */
  #pace(failure: Failure): number {
    const short = failure.opened && failure.events <= 1 && failure.tookMs < LEAST_POLL_MS
    this.#flaps = short ? this.#flaps + 1 : 0
    const { backoff } = this.#options
    const slowest = backoff && backoff.retry === 'exact' ? 0 : clampServerDelay(0)
    if (backoff === false || this.backoff.retryMs > slowest) return 0
    // Without news the count of failures grows instead, and after data alone there is a floor already.
    if (failure.progress === 'data' || (failure.progress === 'nothing' && !isCleanEnd(failure))) return 0
    // One break may happen to anybody; a clean end is the server's own doing.
    if (!isCleanEnd(failure)) return this.#flaps > 1 ? LEAST_POLL_MS * Math.min(this.#flaps - 1, 2) : 0
    const elapsedMs = failure.progress === 'news' ? failure.tookMs : 0
    return Math.max(0, Math.round(LEAST_POLL_MS - elapsedMs))
  }

  /** Tells a wait that has begun, so that a listener's `reconnect()` cuts it short. */
  #told(
    wait: Promise<boolean>,
    delayMs: number,
    reason: 'backoff' | 'retry-after' | 'retry' | 'circuit',
  ): Promise<boolean> {
    this.#lifecycle.tell('wait', { delayMs: Math.round(delayMs), failures: this.backoff.failures, reason })
    return reason === 'retry-after' ? wait : this.#untilWake(wait)
  }

  /**
   * When the network comes back (browsers tell), whoever waits because of the network is back soon: after a jittered base
   * delay, on top of the server's `retry:`, even through an open breaker. A server that answered is not hurried.
   */
  async #untilWake(wait: Promise<boolean>): Promise<boolean> {
    if (this.#lastError === undefined || dropReason(this.#lastError) !== 'network') return wait
    const baseMs = this.#options.backoff === false ? 0 : this.#options.backoff.baseMs
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = machine.onWake(() => {
      timer ??= setTimeout(() => this.#pause.cut(), this.backoff.retryMs + Math.random() * baseMs)
    })
    return wait.finally(() => {
      stop()
      clearTimeout(timer)
    })
  }
}

function isCleanEnd({ error }: Failure): boolean {
  return error.code === 'ERR_SSE_END'
}

/** `cause`: what broke the request, if anything did. */
export function notResent(method: string, cause: SseError | undefined): SseError {
  const why = cause === undefined ? 'is' : 'may have been received and is'
  return new SseError(
    'ERR_SSE_NOT_RESENT',
    `${method} ${why} not idempotent, so it is not sent again; give body as a function to allow it`,
    { cause },
  )
}
