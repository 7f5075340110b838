/**
 * Stable identifiers of everything that can go wrong. They are API: match on `error.code`, never on the text.
 * docs/errors.md has a section for each.
 */
export type SseErrorCode =
  /** An option (or the argument of a method) is not allowed. Thrown where it was given. */
  | 'ERR_SSE_OPTION'
  /** A second loop over a stream that already has a consumer. */
  | 'ERR_SSE_LOCKED'
  /** A loop over a stream that has ended. */
  | 'ERR_SSE_CLOSED'
  /** The request could not be made: a bad header value, a bad URL, a `headers` or `url` function that threw. */
  | 'ERR_SSE_REQUEST'
  /** Name lookup, connect, reset, truncation: the network, before or after the headers. */
  | 'ERR_SSE_NETWORK'
  /** The server's certificate was refused. */
  | 'ERR_SSE_CERTIFICATE'
  /** No response headers within `openTimeoutMs`. */
  | 'ERR_SSE_OPEN_TIMEOUT'
  /** A status that is not a stream ({@link SseHttpError}). */
  | 'ERR_SSE_HTTP'
  /** 200 with another content type, such as a login page or a proxy's HTML ({@link SseHttpError}). */
  | 'ERR_SSE_CONTENT_TYPE'
  /** A redirect without a usable Location, a loop, or one that would carry a body to another origin. */
  | 'ERR_SSE_REDIRECT'
  /** The connection was silent for too long ({@link SseHeartbeatError}). */
  | 'ERR_SSE_HEARTBEAT'
  /** The server ended the response cleanly. */
  | 'ERR_SSE_END'
  /** The connection was given up on purpose: `maxConnectionMs` or `reconnect()`. */
  | 'ERR_SSE_ROTATED'
  /** An event (or a line that never ended) exceeded `maxEventChars`. */
  | 'ERR_SSE_EVENT_TOO_LARGE'
  /** The request is not idempotent, so it was not sent a second time. */
  | 'ERR_SSE_NOT_RESENT'
  /** The breaker is open ({@link SseCircuitOpenError}). */
  | 'ERR_SSE_CIRCUIT_OPEN'
  /** Events are missing and cannot be replayed ({@link SseGapError}). */
  | 'ERR_SSE_GAP'
  /** The cursor could not be loaded or saved. */
  | 'ERR_SSE_STORE'
  /** `json()`: the data is not JSON, or does not match the schema. */
  | 'ERR_SSE_JSON'

/** What {@link SseError.history} holds: lifecycle events (`LifecycleEvent`), oldest first. */
export interface HistoryEntry {
  readonly type: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface SseErrorInit {
  cause?: unknown
  retryable?: boolean
  retryAfterMs?: number | undefined
}

/**
 * Every error that this package throws on its own account. No text of it contains a header value or a query string.
 */
export class SseError extends Error {
  // Written out, here and below: bundlers rename classes.
  override name = 'SseError'
  readonly code: SseErrorCode
  /** Whether a later dial may succeed, as the outcome table judged it (or `isRetryable`, which has the last word). */
  retryable: boolean
  /** What the server asked for with `Retry-After`, in milliseconds; `undefined` when it did not. */
  readonly retryAfterMs?: number | undefined
  /** The last 20 lifecycle events before this error reached the consumer, oldest first; empty on inner causes. */
  history: readonly HistoryEntry[] = []

  constructor(code: SseErrorCode, message: string, init: SseErrorInit = {}) {
    super(message, 'cause' in init ? { cause: init.cause } : undefined)
    this.code = code
    this.retryable = init.retryable ?? false
    this.retryAfterMs = init.retryAfterMs
    // Long and full of nested errors: it would drown the stack trace in a console.
    Object.defineProperty(this, 'history', { enumerable: false })
  }
}

/** `ERR_SSE_HTTP`, `ERR_SSE_CONTENT_TYPE` and `ERR_SSE_REDIRECT`: the server answered, but not with a stream. */
export class SseHttpError extends SseError {
  override name = 'SseHttpError'
  /** The HTTP status code. */
  readonly status: number
  /** Origin and path of the request that was answered so; the query string may hold secrets and is left out. */
  readonly url: string
  /** The response headers without Set-Cookie. Not enumerable, so that logging the error does not log them. */
  declare readonly headers: Headers

  constructor(
    code: 'ERR_SSE_HTTP' | 'ERR_SSE_CONTENT_TYPE' | 'ERR_SSE_REDIRECT',
    message: string,
    init: SseErrorInit & { status: number; url: string; headers: Headers },
  ) {
    super(code, message, init)
    this.status = init.status
    this.url = init.url
    const headers = new Headers([...init.headers].filter(([name]) => name.toLowerCase() !== 'set-cookie'))
    Object.defineProperty(this, 'headers', { value: headers, enumerable: false })
  }
}

/** `ERR_SSE_HEARTBEAT`: the watchdog ended a connection that had gone silent. */
export class SseHeartbeatError extends SseError {
  override name = 'SseHeartbeatError'
  /** How long no byte had come (with `eventTimeoutMs`: no event), in milliseconds. */
  readonly silentMs: number

  /** `missing`: what did not come. */
  constructor(missing: 'first byte' | 'byte' | 'event', silentMs: number) {
    const seconds = (silentMs / 1_000).toFixed(silentMs < 10_000 ? 1 : 0)
    const but = {
      'first byte': 'since the headers; a proxy on the way may be buffering the stream',
      byte: 'although the connection is open',
      event: 'only comments',
    }
    super('ERR_SSE_HEARTBEAT', `No ${missing} for ${seconds} s, ${but[missing]}`, { retryable: true })
    this.silentMs = silentMs
  }
}

/** `ERR_SSE_CIRCUIT_OPEN`: too many failures in a row, so no dial is made for a while. */
export class SseCircuitOpenError extends SseError {
  override name = 'SseCircuitOpenError'
  /** Failures in a row. */
  readonly failures: number
  /** When the breaker lets a probe through, in milliseconds since the epoch. */
  readonly retryAt: number
  /** Where to resume later; `undefined` when no id was ever seen. */
  readonly lastEventId: string | undefined

  constructor(init: { failures: number; retryAt: number; lastEventId: string | undefined; cause: unknown }) {
    const count = init.failures === 1 ? '1 failure' : `${init.failures} failures`
    const why = init.cause instanceof Error ? `; the last one: ${init.cause.message}` : ''
    super('ERR_SSE_CIRCUIT_OPEN', `The circuit breaker is open after ${count} in a row${why}`, {
      cause: init.cause,
      retryable: true,
    })
    this.failures = init.failures
    this.retryAt = init.retryAt
    this.lastEventId = init.lastEventId
  }
}

/**
 * Why events are missing: `no-cursor` (the connection broke and no id was ever seen), `cursor-ignored` (the server
 * started somewhere else), `ids-reused` (known ids came back with other data), `missing` (`isNext` says that ids were
 * skipped).
 */
export type GapReason = 'no-cursor' | 'cursor-ignored' | 'ids-reused' | 'missing'

/** `ERR_SSE_GAP`, with `resume.onGap: 'throw'`: events may be missing, and the server cannot replay them. */
export class SseGapError extends SseError {
  override name = 'SseGapError'
  readonly reason: GapReason
  /** The last id before the gap; `undefined` when there was none. */
  readonly after: string | undefined
  /** The first id after the gap; `undefined` when it is not known. */
  readonly before: string | undefined

  constructor(gap: { reason: GapReason; after: string | undefined; before: string | undefined }) {
    super('ERR_SSE_GAP', `Events may be missing (${gap.reason})`)
    this.reason = gap.reason
    this.after = gap.after
    this.before = gap.before
  }
}
