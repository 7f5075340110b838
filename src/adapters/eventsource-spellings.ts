import { type BackoffOptions, type ResilientSseOptions, SseError } from '../index.ts'
import { EventSourceErrorEvent } from './eventsource-error.ts'
import { UNAVAILABLE } from './platform.ts'

// The options of other libraries, and those of ours that honour them. Units and special values keep their meaning.

type Options = Record<string, unknown>

/** What an option of theirs stands for. The name is for errors, which speak of what was given. */
type Spelling = (value: never, name: string) => ResilientSseOptions

export const SPELLINGS = {
  // eventsource 5.1
  maxBufferSize: (maxEventChars: number) => ({ maxEventChars }),

  // event-source-polyfill 1.0
  heartbeatTimeout: (ms: number | string, name) => ({ heartbeat: { timeoutMs: polyfillDuration(ms, name) } }),
  lastEventIdQueryParameterName: (queryParameter: string) => ({ resume: { queryParameter } }),

  // launchdarkly-eventsource 2.2
  initialRetryDelayMillis: (baseMs: number) => ({ backoff: { baseMs } }),
  maxBackoffMillis: (maxMs: number) => ({ backoff: maxMs === 0 ? { factor: 1 } : { maxMs } }),
  jitterRatio(ratio: number, name) {
    if (typeof ratio !== 'number' || !(ratio >= 0 && ratio <= 1))
      refuseOption(name, 'is not a number from 0 to 1')
    return { backoff: { jitter: ratio } }
  },
  retryResetIntervalMillis(resetAfterMs: number, name) {
    if (resetAfterMs === 0) refuseOption(name, '0 (never) cannot take effect; an event with a new id resets')
    return { backoff: { resetAfterMs } }
  },
  readTimeoutMillis: (timeoutMs: number) => ({ heartbeat: { timeoutMs } }),
  errorFilter(filter: (event: EventSourceErrorEvent) => unknown, name) {
    if (typeof filter !== 'function') refuseOption(name, 'is not a function')
    return {
      isRetryable(error) {
        const answer = filter(new EventSourceErrorEvent(error))
        // As there: a promise is true, whatever becomes of it.
        if (answer instanceof Promise) answer.catch(() => {})
        return Boolean(answer)
      },
    }
  },
  https: (connect: Options) => ({ tcp: { connect } }),
  rejectUnauthorized: (rejectUnauthorized: boolean) => ({ tcp: { connect: { rejectUnauthorized } } }),
  proxy: (proxy: string) => (proxy === '' ? {} : { tcp: { proxy } }),
  skipDefaultHeaders: (skip: boolean, name) =>
    skip
      ? refuseOption(name, 'cannot take effect; a browser is sent no header that needs a preflight anyway')
      : {},

  // extended-eventsource 2.1
  retry: (baseMs: number) => ({ backoff: { baseMs } }),
  disableRetry: (disable: boolean) => (disable ? { reconnectOnEnd: false, isRetryable: () => false } : {}),
  disableLogger: (disable: boolean, name) =>
    disable ? {} : refuseOption(name, 'cannot take effect; nothing is logged, see onLifecycle'),

  // reconnecting-eventsource 1.6
  max_retry_time: (maxMs: number) => ({ backoff: { maxMs } }),
  lastEventId: (lastEventId: string) => ({ resume: { lastEventId } }),
} satisfies Record<string, Spelling>

const ANOTHER_FETCH = 'give a fetch that adds it: (input, init) => fetch(input, { ...init, … })'

/** Options of theirs that cannot take effect, and what does instead. */
export const REFUSED: Readonly<Options> = {
  Transport: 'every request goes through fetch; give another one as fetch',
  agent: 'an http.Agent does not fit fetch; see tcp and dispatcher',
  createConnection: 'this package makes its own connections; see tcp.connect and dispatcher',
  eventSourceClass: 'the stream is read by this package itself',
  logger: 'nothing is logged; see onLifecycle',
  // extended-eventsource hands them to the Request that it makes.
  mode: ANOTHER_FETCH,
  cache: ANOTHER_FETCH,
  credentials: ANOTHER_FETCH,
  redirect: ANOTHER_FETCH,
  referrer: ANOTHER_FETCH,
  referrerPolicy: ANOTHER_FETCH,
  integrity: ANOTHER_FETCH,
  keepalive: ANOTHER_FETCH,
  priority: ANOTHER_FETCH,
}

/** [launchdarkly-eventsource] For applications that look before they give an option. */
export const SUPPORTED_OPTIONS: Readonly<Record<string, true>> = Object.freeze(
  Object.fromEntries(
    [...Object.keys(SPELLINGS), 'body', 'fetch', 'headers', 'method', 'withCredentials']
      .filter(name => name !== 'skipDefaultHeaders' && !UNAVAILABLE.includes(name))
      .map(name => [name, true as const]),
  ),
)

/** The options in our spelling, and for each that came in theirs (`backoff.baseMs`) how it was given. */
export function inOurSpelling(given: object): { options: Options; givenAs: Map<string, string> } {
  // Without a prototype, so that an option of the name __proto__ is one like any other, and refused.
  const options: Options = Object.create(null)
  const theirs: [name: string, value: unknown][] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    if (Object.hasOwn(REFUSED, name)) refuseOption(name, `cannot take effect; ${REFUSED[name]}`)
    if (!Object.hasOwn(SPELLINGS, name)) options[name] = value
    // [launchdarkly-eventsource] null is as good as nothing.
    else if (value !== null) theirs.push([name, value])
  }
  const givenAs = new Map<string, string>()
  for (const [name, value] of theirs) {
    const ours = (SPELLINGS as unknown as Record<string, Spelling>)[name]?.(value as never, name)
    add(options, ours as Options, '', path => {
      if (givenAs.has(path)) refuseOption(name, `${givenAs.get(path)} is set, too; give one of them`)
      givenAs.set(path, name)
      return name
    })
  }
  const { backoff } = options
  if (givenAs.get('backoff.jitter') === 'jitterRatio')
    options.backoff = jitteredBelow(backoff as BackoffOptions)
  return { options, givenAs }
}

/** Adds what an option of theirs stands for; what is there already must not be overruled. */
function add(options: Options, more: Options, path: string, claim: (path: string) => string): void {
  for (const [key, value] of Object.entries(more)) {
    const here = path + key
    const before = options[key]
    if (isGroup(value) && (before === undefined || isGroup(before))) {
      const group = { ...before }
      options[key] = group
      add(group, value, `${here}.`, claim)
      continue
    }
    const name = claim(here)
    if (before !== undefined) refuseOption(name, `${here} is set, too; give one of them`)
    options[key] = value
  }
}

export function isGroup(value: unknown): value is Options {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

/** The core takes as much from a delay as it adds; theirs only takes. The middle of the range says the same. */
function jitteredBelow(backoff: BackoffOptions): BackoffOptions {
  const { baseMs = 500, maxMs = Math.max(16_000, baseMs), jitter } = backoff
  // What is no number is left for the core to refuse.
  if (typeof baseMs !== 'number' || typeof maxMs !== 'number') return backoff
  const half = (jitter as number) / 2
  const middle = 1 - half
  return { ...backoff, baseMs: baseMs * middle, maxMs: maxMs * middle, jitter: half / middle }
}

/** As there: whole milliseconds, also as text, from a second to five hours. */
function polyfillDuration(given: number | string, name: string): number {
  const ms = Number.parseInt(String(given), 10)
  if (Number.isNaN(ms)) refuseOption(name, 'is not a number of milliseconds')
  return Math.min(Math.max(ms, 1_000), 18_000_000)
}

export function refuseOption(name: string, why: string): never {
  throw new SseError('ERR_SSE_OPTION', `${name}: ${why}`)
}
