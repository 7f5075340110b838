import type { GapReason, HistoryEntry, SseError } from './errors.ts'

/** Where a stream is. `waiting` covers both a backoff delay and an open breaker. */
export type StreamState = 'idle' | 'connecting' | 'open' | 'waiting' | 'closed'

/**
 * Why a connection ended, or a dial did not become one: the server ended it, the network broke, nothing came, the answer
 * (or the request) was not acceptable, or it was given up on purpose (`maxConnectionMs`, `reconnect()`).
 */
export type DropReason = 'end' | 'network' | 'silence' | 'refused' | 'rotate'

interface LifecycleBodies {
  /** A request is about to be sent. `url` is origin and path; `attempt` counts the dials of this outage from 1. */
  dial: { url: string; attempt: number; lastEventId: string | undefined }
  /** The response is an event stream. `tookMs` counts from the dial. */
  open: { url: string; status: number; headers: Headers; tookMs: number; resumed: boolean }
  /**
   * The connection is gone (`opened`), or the dial failed. `openMs`: how long it lived. `discardedChars`: size of the
   * event that was cut off, which the server is asked to send again.
   */
  drop: {
    reason: DropReason
    error: SseError
    opened: boolean
    openMs: number
    events: number
    discardedChars: number
  }
  /** No dial before `delayMs` have passed. `failures`: how many in a row. */
  wait: { delayMs: number; failures: number; reason: 'backoff' | 'retry-after' | 'retry' | 'circuit' }
  /** Silence: `hint` (the machine slept or lost an address), `probe` (the other side was asked), `dead`. */
  stall: { phase: 'hint' | 'probe' | 'dead'; silentMs: number }
  /** Events may be missing; see `GapReason`. */
  gap: { reason: GapReason; after: string | undefined; before: string | undefined }
  /** `count` replayed events in a row were dropped, from `firstId` to `lastId`. */
  duplicate: { count: number; firstId: string; lastId: string }
  /** The breaker changed. `retryAt` (epoch ms) is set while it is open. */
  circuit: { state: 'closed' | 'open' | 'half-open'; failures: number; retryAt: number | undefined }
  /** The store was given `id`; `error` when that failed. */
  cursor: { id: string; error: SseError | undefined }
  /** The stream is over: the server said so (204), the consumer did, its signal did, or a final error. */
  close: { reason: 'end' | 'closed' | 'aborted' | 'error'; error: unknown }
}

export type LifecycleType = keyof LifecycleBodies

/**
 * Everything that can happen to a stream, told to `onLifecycle` and published on `node:diagnostics_channel` as
 * `resilient-sse:<type>`. `at` is in milliseconds since the epoch, every duration in milliseconds.
 */
export type LifecycleEvent = {
  [Type in LifecycleType]: { readonly type: Type; readonly at: number } & Readonly<LifecycleBodies[Type]>
}[LifecycleType]

export type LifecycleListener = (event: LifecycleEvent) => void

/** Calls user code that must not be able to hurt the stream: not by throwing, not by a rejected promise. */
export function callSafely<Argument>(
  listener: ((argument: Argument) => unknown) | undefined,
  argument: Argument,
) {
  if (listener === undefined) return
  try {
    ignoreRejection(listener(argument))
  } catch {}
}

/** An answer that may be a promise, although none is wanted: its rejection must not end the process. */
export function ignoreRejection(answer: unknown): void {
  // Not only this realm's own promises reject.
  if (typeof answer === 'object' && answer !== null && 'then' in answer) {
    Promise.resolve(answer).catch(() => {})
  }
}

const HISTORY_LENGTH = 20

/** Tells lifecycle events to whoever listens, and remembers the last ones for errors. */
export class Lifecycle {
  readonly #listener: LifecycleListener | undefined
  readonly #own: (event: LifecycleEvent) => void
  readonly #history: LifecycleEvent[] = []
  #closed = false

  /** `own`: counts and publishes, before the user's listener hears of it. */
  constructor(listener: LifecycleListener | undefined, own: (event: LifecycleEvent) => void) {
    this.#listener = listener
    this.#own = own
  }

  /** Any listener may close the stream while others of its events are on their way: none but saves follow `close`. */
  tell<Type extends LifecycleType>(type: Type, body: LifecycleBodies[Type]): void {
    if (this.#closed && type !== 'cursor') return
    this.#closed ||= type === 'close'
    const event = { type, at: Date.now(), ...body } as unknown as LifecycleEvent
    if (this.#history.push(event) > HISTORY_LENGTH) this.#history.shift()
    this.#own(event)
    callSafely(this.#listener, event)
  }

  get history(): readonly HistoryEntry[] {
    return [...this.#history]
  }
}
