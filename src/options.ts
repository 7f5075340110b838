import type { Dispatcher } from 'undici'
import {
  checkBoolean,
  checkFunction,
  checkGroup,
  checkNumber,
  refuse,
  refuseOption,
  withDefaults,
} from './checks.ts'
import type { SseError } from './errors.ts'
import {
  GROUPS,
  resolveBackoff,
  resolveBreaker,
  resolveDedupe,
  resolveHeartbeat,
  resolveResume,
} from './groups.ts'
import { parseUrl } from './http.ts'
import type { BackoffOptions, ResolvedBackoff } from './layers/backoff.ts'
import type { Breaker, BreakerOptions } from './layers/breaker.ts'
import type { DedupeOptions, ResolvedDedupe } from './layers/dedupe.ts'
import type { HeartbeatOptions, ResolvedHeartbeat } from './layers/heartbeat.ts'
import type { ResolvedResume, ResumeOptions } from './layers/resume.ts'
import type { ResolvedTcp, TcpOptions } from './layers/tcp.ts'
import type { LifecycleListener } from './lifecycle.ts'
import { checkConnections, checkRequest } from './request-checks.ts'
import { resolveTcp } from './tcp-group.ts'

/** What a `url`, `headers` or `body` function is told about the dial that it is asked for. */
export interface RequestContext {
  /** Dials of this outage so far, this one included: 1 for the first. */
  attempt: number
  /** The id that this dial resumes after; `undefined` when there is none. */
  lastEventId: string | undefined
  /** Aborts when the dial is given up: `openTimeoutMs`, `close()`, the user's signal. */
  signal: AbortSignal
}

/** What `isRetryable` is told beside the error. */
export interface RetryContext {
  /** Failures in a row, this one included. */
  failures: number
  /** Whether this stream was ever open. */
  everOpened: boolean
}

/** Request headers: an object, pairs, a `Map` or `Headers`. A property that is `undefined` or `null` is left out. */
export type HeadersOption =
  | Headers
  | Iterable<readonly [name: string, value: string]>
  | Readonly<Record<string, string | null | undefined>>

/** A request body. A stream must come from a function: it can be sent once only. */
export type BodyOption =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | FormData
  | URLSearchParams
  | ReadableStream<Uint8Array>

export interface ResilientSseOptions {
  /** The request method. Default `'GET'`. */
  method?: string | undefined
  /**
   * Request headers, or a function that gives those of the moment (fresh tokens). The function runs before each dial,
   * inside `openTimeoutMs`, and once more after a 401. On a redirect to another origin they are left out.
   */
  headers?: HeadersOption | ((context: RequestContext) => HeadersOption | Promise<HeadersOption>) | undefined
  /**
   * The request body, for any method but GET and HEAD. A value is sent once when the method is not idempotent (POST,
   * PATCH); a function is the permission to send the request again, and makes the body for each dial.
   */
  body?:
    | BodyOption
    | null
    | ((context: RequestContext) => BodyOption | null | undefined | Promise<BodyOption | null | undefined>)
  /** Ends the stream when it aborts; the loop then throws the signal's reason, as `fetch` does. */
  signal?: AbortSignal | undefined
  /** Another fetch, such as `globalThis.fetch` under a mock. It brings its own connections, so `tcp` is refused beside it. */
  fetch?: typeof globalThis.fetch | undefined
  /** An undici 7 dispatcher for everything that `tcp` cannot say; replaces layer 1. */
  dispatcher?: Dispatcher | undefined
  /**
   * From the dial to the response headers, in milliseconds, `url` and `headers` functions included. 100 to 600,000.
   * Default 30,000. When the request had been sent, its expiry doubles the next limit (to 5 minutes) and does not count
   * for the breaker: some frameworks withhold the headers until there is an event.
   */
  openTimeoutMs?: number | undefined
  /**
   * Gives a connection up after this long and resumes on a new one, before a load balancer or a token ends it.
   * Milliseconds, 1,000 to 86,400,000; each connection takes 90 to 100 % of it. Default: never.
   */
  maxConnectionMs?: number | undefined
  /**
   * The largest event, in characters (UTF-16 code units) of data, and the longest line. 1 to 536,870,888. Default
   * 16,777,216. More ends the stream with `ERR_SSE_EVENT_TOO_LARGE`: the same event would come again.
   */
  maxEventChars?: number | undefined
  /**
   * Whether a clean end of the response leads to another dial. Default true; false for finite streams, where a clean end
   * ends the loop. A request that may not be sent again is never redialled.
   */
  reconnectOnEnd?: boolean | undefined
  /** The last word on whether a failure is dialled again, for any row of the outcome table; `undefined` leaves it. */
  isRetryable?: (error: SseError, context: RetryContext) => boolean | undefined
  /**
   * Comments, without the colon and one space after it, in the order of the stream: at once, or when the consumer asks
   * for more than the events before them.
   */
  onComment?: ((comment: string) => void) | undefined
  /** A `retry:` field, in milliseconds as the server wrote it; layer 4 heeds it in any case. */
  onRetry?: ((ms: number) => void) | undefined
  /** Everything that happens to the stream; see docs/lifecycle.md. What it throws is ignored. */
  onLifecycle?: LifecycleListener | undefined
  /** Layer 1. `false`: no keepalive. */
  tcp?: TcpOptions | false | undefined
  /** Layer 2. `false`: silence is never noticed. */
  heartbeat?: HeartbeatOptions | false | undefined
  /** Layer 3. `false`: no Last-Event-ID, no store, no gaps told. */
  resume?: ResumeOptions | false | undefined
  /** Layer 4. `false`: no waiting between dials. */
  backoff?: BackoffOptions | false | undefined
  /** Layer 4. `false`: dials for ever; a `Breaker`: shared by all streams that are given it. */
  breaker?: BreakerOptions | Breaker | false | undefined
  /** Layer 5. `false`: replayed events are delivered again. */
  dedupe?: DedupeOptions | false | undefined
}

/** An absolute http(s) URL without credentials, or a function that gives one before each dial. */
export type UrlOption = string | URL | ((context: RequestContext) => string | URL | Promise<string | URL>)

/** The options of one stream, checked and with defaults. */
export interface ResolvedOptions
  extends Omit<ResilientSseOptions, 'tcp' | 'heartbeat' | 'resume' | 'backoff' | 'breaker' | 'dedupe'> {
  url: UrlOption
  method: string
  openTimeoutMs: number
  maxEventChars: number
  reconnectOnEnd: boolean
  /** Whether the request may be sent a second time. */
  repeatable: boolean
  tcp: ResolvedTcp | false
  heartbeat: ResolvedHeartbeat | false
  resume: ResolvedResume | false
  backoff: ResolvedBackoff | false
  breaker: Breaker | false
  dedupe: ResolvedDedupe | false
  /** An adapter's: the bytes of each read, and how many events they ended. */
  onRead?: (chunks: readonly Uint8Array[], events: number) => void
  /** An adapter's: it made the first dial itself, and had it admitted as this one. */
  dialledAs?: object
}

const KNOWN = [
  'method',
  'headers',
  'body',
  'signal',
  'fetch',
  'dispatcher',
  'openTimeoutMs',
  'maxConnectionMs',
  'maxEventChars',
  'reconnectOnEnd',
  'isRetryable',
  'onComment',
  'onRetry',
  'onLifecycle',
  'tcp',
  'heartbeat',
  'resume',
  'backoff',
  'breaker',
  'dedupe',
] as const satisfies readonly (keyof ResilientSseOptions)[]

const DEFAULTS = {
  method: 'GET',
  openTimeoutMs: 30_000,
  maxEventChars: 16_777_216,
  reconnectOnEnd: true,
} as const

const DAY_MS = 86_400_000
/** V8's longest string on 64 bits. */
const MAX_STRING = 536_870_888

/** RFC 9110, 9.2.2, and REPORT of RFC 3253. */
const IDEMPOTENT = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'PUT',
  'DELETE',
  'REPORT',
  'QUERY',
  'PROPFIND',
  'SEARCH',
])

/** Checks everything and fills the defaults in, once. Whatever could not take effect is refused here. */
export function resolveOptions(url: UrlOption, given: ResilientSseOptions | undefined): ResolvedOptions {
  checkGroup('options', given, KNOWN, 'an object', groupOf)
  const options = withDefaults(DEFAULTS, given)
  if (typeof url !== 'function') parseUrl(url)
  checkNumber('openTimeoutMs', options.openTimeoutMs, 100, 600_000)
  checkNumber('maxEventChars', options.maxEventChars, 1, MAX_STRING)
  if (options.maxConnectionMs !== undefined)
    checkNumber('maxConnectionMs', options.maxConnectionMs, 1_000, DAY_MS)
  checkBoolean('reconnectOnEnd', options.reconnectOnEnd)
  for (const name of ['isRetryable', 'onComment', 'onRetry', 'onLifecycle', 'fetch'] as const) {
    if (options[name] !== undefined) checkFunction(name, options[name])
  }
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal))
    refuse('signal', options.signal, 'an AbortSignal')
  const method = checkRequest(options)
  checkConnections(options)
  const repeatable = IDEMPOTENT.has(method) || typeof options.body === 'function'
  if (options.maxConnectionMs !== undefined && !repeatable) {
    const why = `${method} is sent again only with body as a function`
    refuseOption('maxConnectionMs', `cannot take effect, because ${why}`)
  }
  return {
    ...options,
    url,
    method,
    repeatable,
    tcp: options.tcp === false ? false : resolveTcp(options.tcp),
    heartbeat: options.heartbeat === false ? false : resolveHeartbeat(options.heartbeat),
    resume: options.resume === false ? false : resolveResume(options.resume, options.headers),
    backoff: options.backoff === false ? false : resolveBackoff(options.backoff),
    breaker: resolveBreaker(options.breaker),
    dedupe: options.dedupe === false ? false : resolveDedupe(options.dedupe),
  }
}

/** Where an option belongs that was given at the top. */
function groupOf(key: string): string | undefined {
  const group = Object.entries(GROUPS).find(([, names]) => (names as readonly string[]).includes(key))?.[0]
  return group === undefined ? undefined : `${group}.${key}`
}
