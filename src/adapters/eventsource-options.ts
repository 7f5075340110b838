import {
  Breaker,
  type LifecycleListener,
  ResilientSse,
  type ResilientSseOptions,
  SseError,
  SseHttpError,
} from '../index.ts'
import { withCredentials } from './credentials.ts'

/**
 * The options of the core ({@link ResilientSseOptions}), those of the DOM, and the spellings of the libraries that people
 * come from, each of which is one option of a layer. Giving both spellings is refused.
 */
export interface EventSourceInit extends ResilientSseOptions {
  /** [DOM] Whether a browser sends cookies to another origin, too. Default false. Without meaning on Node. */
  withCredentials?: boolean | undefined
  /**
   * `'resilient'` (default): all layers. `'whatwg'`: the letter of the HTML standard; every status but 200 and every
   * other content type is final, silence is not judged, replayed events are delivered again. Layers that are given
   * beside it have their say.
   */
  conformance?: 'resilient' | 'whatwg' | undefined
  /** [event-source-polyfill] `heartbeat.timeoutMs`; 0 switches layer 2 off. */
  heartbeatTimeout?: number | undefined
  /** [event-source-polyfill] `resume.queryParameter`. */
  lastEventIdQueryParameterName?: string | undefined
  /** [launchdarkly-eventsource] `backoff.baseMs`. */
  initialRetryDelayMillis?: number | undefined
  /** [launchdarkly-eventsource] `backoff.maxMs`. */
  maxBackoffMillis?: number | undefined
  /** [launchdarkly-eventsource] `backoff.jitter`. */
  jitterRatio?: number | undefined
  /** [launchdarkly-eventsource] `backoff.resetAfterMs`. */
  retryResetIntervalMillis?: number | undefined
  /** [launchdarkly-eventsource] `heartbeat.timeoutMs`; 0 switches layer 2 off. */
  readTimeoutMillis?: number | undefined
  /** [extended-eventsource] `backoff.baseMs`. */
  retry?: number | undefined
  /** [reconnecting-eventsource] `backoff.maxMs`. */
  max_retry_time?: number | undefined
}

/** Each of their options, and ours that does the same. */
const SPELLINGS: Readonly<Record<string, readonly [group: string, option: string]>> = {
  heartbeatTimeout: ['heartbeat', 'timeoutMs'],
  lastEventIdQueryParameterName: ['resume', 'queryParameter'],
  initialRetryDelayMillis: ['backoff', 'baseMs'],
  maxBackoffMillis: ['backoff', 'maxMs'],
  jitterRatio: ['backoff', 'jitter'],
  retryResetIntervalMillis: ['backoff', 'resetAfterMs'],
  readTimeoutMillis: ['heartbeat', 'timeoutMs'],
  retry: ['backoff', 'baseMs'],
  max_retry_time: ['backoff', 'maxMs'],
}

/** Options of theirs that cannot take effect, and what does instead. */
const REFUSED: Readonly<Record<string, string>> = {
  Transport: 'every request goes through fetch; give another one as fetch',
  agent: 'an http.Agent does not fit fetch; see tcp and dispatcher',
  eventSourceClass: 'the stream is read by this package itself',
}

/** What the standard leaves to nobody: any answer but a stream is the end. */
const WHATWG: ResilientSseOptions = {
  heartbeat: false,
  dedupe: false,
  isRetryable: error => (error instanceof SseHttpError ? false : undefined),
}

/** The stream that these options ask for; an error about one of them says it in the words it was given in. */
export function openStream(url: URL, init: EventSourceInit, onLifecycle: LifecycleListener): ResilientSse {
  const { withCredentials: credentials, conformance = 'resilient', ...given } = init
  if (conformance !== 'resilient' && conformance !== 'whatwg') {
    throw new SseError('ERR_SSE_OPTION', "conformance: is neither 'resilient' nor 'whatwg'")
  }
  const spelled = Object.keys(given).filter(name => name in SPELLINGS)
  try {
    const options = { ...(conformance === 'whatwg' ? WHATWG : {}), ...inOurSpelling(given) }
    // The standard's EventSource never gives up because dialling has failed often.
    if (!(options.breaker instanceof Breaker) && options.breaker !== false)
      options.breaker = { onOpen: 'wait', ...options.breaker }
    return new ResilientSse(url, withCredentials(Boolean(credentials), { ...options, onLifecycle }))
  } catch (error) {
    for (const name of spelled) {
      const ours = `${(SPELLINGS[name] as readonly string[]).join('.')}: `
      if (!(error instanceof SseError) || !error.message.startsWith(ours)) continue
      throw new SseError('ERR_SSE_OPTION', `${name}: ${error.message.slice(ours.length)}`)
    }
    throw error
  }
}

function inOurSpelling(given: object): ResilientSseOptions {
  const options: Record<string, unknown> = {}
  const theirs: [name: string, value: unknown][] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    if (name in REFUSED) throw new SseError('ERR_SSE_OPTION', `${name}: cannot take effect; ${REFUSED[name]}`)
    if (name in SPELLINGS) theirs.push([name, value])
    else options[name] = value
  }
  for (const [name, value] of theirs) {
    const [group, option] = SPELLINGS[name] as readonly [string, string]
    const before = options[group]
    if (before === false || (typeof before === 'object' && before !== null && option in before)) {
      throw new SseError('ERR_SSE_OPTION', `${name}: ${group}.${option} is set, too; give one of them`)
    }
    options[group] = { ...(before as object | undefined), [option]: value }
  }
  return options
}
