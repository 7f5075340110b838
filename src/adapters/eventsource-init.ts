import type { ResilientSseOptions } from '../index.ts'
import type { EventSourceErrorEvent } from './eventsource-error.ts'

/** What a custom `fetch` is told: the headers are a plain object, so that `{ ...init.headers, authorization }` keeps them. */
export interface EventSourceFetchInit {
  method: string
  headers: Record<string, string>
  signal: AbortSignal
  redirect?: 'follow' | 'manual'
  cache?: 'no-store'
  credentials?: 'include' | 'omit'
  // biome-ignore lint/suspicious/noExplicitAny: every fetch declares bodies of its own.
  body?: any
}

/** The part of a `Response` that is needed, so that any `fetch` fits: the platform's, undici's, a wrapper of either. */
export interface FetchLikeResponse {
  readonly status: number
  readonly headers: {
    get(name: string): string | null
    has(name: string): boolean
    forEach(callback: (value: string, name: string) => void): void
  }
  /** A web stream of bytes. */
  // biome-ignore lint/suspicious/noExplicitAny: every platform declares web streams of its own.
  readonly body: any
}

export type FetchLike = (url: URL, init: EventSourceFetchInit) => Promise<FetchLikeResponse>

/**
 * The options of the core ({@link ResilientSseOptions}), those of the DOM, and those of the libraries that people come
 * from, each of which stands for options of ours. Giving both is refused.
 */
export interface EventSourceInit extends Omit<ResilientSseOptions, 'fetch'> {
  /** Another fetch. It brings its own connections, so `tcp` is refused beside it. */
  fetch?: FetchLike | undefined
  /** [DOM] Whether a browser sends cookies to another origin, too. Default false. Without meaning on Node. */
  withCredentials?: boolean | undefined
  /**
   * `'resilient'` (default): all layers. `'whatwg'`: the letter of the HTML standard; every status but 200 and every
   * other content type is final, silence is not judged, replayed events are delivered again, delays are not jittered.
   * Layers that are given beside it have their say.
   */
  conformance?: 'resilient' | 'whatwg' | undefined

  /** [eventsource] `maxEventChars`. */
  maxBufferSize?: number | null | undefined

  /** [event-source-polyfill] `heartbeat.timeoutMs`, as there brought into 1 s to 5 h. */
  heartbeatTimeout?: number | string | null | undefined
  /** [event-source-polyfill] `resume.queryParameter`. */
  lastEventIdQueryParameterName?: string | null | undefined

  /** [launchdarkly-eventsource] `backoff.baseMs`. */
  initialRetryDelayMillis?: number | null | undefined
  /** [launchdarkly-eventsource] `backoff.maxMs`; 0: each delay is the first one again. */
  maxBackoffMillis?: number | null | undefined
  /** [launchdarkly-eventsource] Up to this part of each delay is taken away; 0 to 1. */
  jitterRatio?: number | null | undefined
  /** [launchdarkly-eventsource] `backoff.resetAfterMs`. */
  retryResetIntervalMillis?: number | null | undefined
  /** [launchdarkly-eventsource] `heartbeat.timeoutMs`; 0 switches layer 2 off. */
  readTimeoutMillis?: number | null | undefined
  /** [launchdarkly-eventsource] `isRetryable`: whether to dial again after this error event. */
  errorFilter?: ((event: EventSourceErrorEvent) => boolean) | null | undefined
  /** [launchdarkly-eventsource] `tcp.connect`: options of `tls.connect`. */
  https?: Record<string, unknown> | null | undefined
  /** [launchdarkly-eventsource] `tcp.connect.rejectUnauthorized`. */
  rejectUnauthorized?: boolean | null | undefined
  /** [launchdarkly-eventsource] `tcp.proxy`. */
  proxy?: string | null | undefined
  /** [launchdarkly-eventsource] `false`; nothing else can take effect. */
  skipDefaultHeaders?: false | null | undefined

  /** [extended-eventsource] `backoff.baseMs`. */
  retry?: number | null | undefined
  /** [extended-eventsource] Whether the first failure and the first end are the last. */
  disableRetry?: boolean | null | undefined
  /** [extended-eventsource] Whether a browser sends no cookies at all. Wins over `withCredentials`. */
  omitCredentials?: boolean | null | undefined
  /** [extended-eventsource] `true`; nothing is logged anyway. */
  disableLogger?: true | null | undefined

  /** [reconnecting-eventsource] `backoff.maxMs`. */
  max_retry_time?: number | null | undefined
  /** [reconnecting-eventsource] `resume.lastEventId`. */
  lastEventId?: string | null | undefined
}
