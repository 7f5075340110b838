// What runs in the browser: streams of either kind, started and looked at from the test by evaluate().
import { type EventSourceInit, EventSource as Resilient } from 'resilient-sse/eventsource'

/** Options as they pass through JSON. */
export interface PlainOptions
  extends Pick<
    EventSourceInit,
    'conformance' | 'heartbeat' | 'backoff' | 'breaker' | 'openTimeoutMs' | 'method'
  > {
  withCredentials?: boolean
  resume?: { lastEventId?: string | undefined; queryParameter?: string }
  headers?: Record<string, string>
  /** As a function of the user's gives them, so that they may be asked for again. */
  freshHeaders?: Record<string, string>
  body?: string
}

export interface StartOptions {
  kind: 'native' | 'ours'
  url: string
  init?: PlainOptions
  /** Types of events beside `message` to listen to. */
  types?: string[]
  /** Closes the stream when it opens, or at this event (1 is the first). */
  closeAt?: 'open' | number | undefined
  closeAfterMs?: number | undefined
  /** Asks for a new connection after this many events. */
  reconnectAfter?: number | undefined
}

export interface SeenError {
  readyState: number
  code: string | undefined
  message: string | undefined
  status: number | undefined
}

export interface Seen {
  events: { type: string; data: string; lastEventId: string }[]
  told: string[]
  errors: SeenError[]
  comments: string[]
  /** Types of lifecycle events, with the phase, reason or state of those that have one. */
  lifecycle: string[]
  readyStates: number[]
  readyState: number
  closed: string | undefined
}

interface Run {
  source: globalThis.EventSource | Resilient
  seen: Seen
}

const runs: Run[] = []

function start({
  kind,
  url,
  init = {},
  types = [],
  closeAt,
  closeAfterMs,
  reconnectAfter,
}: StartOptions): number {
  const seen: Seen = {
    events: [],
    told: [],
    errors: [],
    comments: [],
    lifecycle: [],
    readyStates: [],
    readyState: 0,
    closed: undefined,
  }
  const source =
    kind === 'native'
      ? new globalThis.EventSource(url, { withCredentials: init.withCredentials ?? false })
      : ours(url, init, seen)
  seen.readyStates.push(source.readyState)
  const onEvent = (event: Event) => {
    const { type, data, lastEventId } = event as MessageEvent
    seen.told.push('event')
    seen.events.push({ type, data, lastEventId })
    if (seen.events.length === closeAt) source.close()
    if (seen.events.length === reconnectAfter) (source as Resilient).reconnect()
  }
  source.onopen = event => {
    // A server may name its events as it likes.
    if ('data' in event) return onEvent(event)
    seen.told.push('open')
    seen.readyStates.push(source.readyState)
    if (closeAt === 'open') source.close()
  }
  source.onerror = (event: Event) => {
    if ('data' in event) return onEvent(event)
    seen.told.push(source.readyState === 2 ? 'error: closed' : 'error: connecting')
    const { error, message, status } = event as Event &
      Partial<{ error: { code: string }; message: string; status: number }>
    seen.errors.push({ readyState: source.readyState, code: error?.code, message, status })
    if (source.readyState === 2) seen.closed ??= 'error'
  }
  for (const type of new Set(['message', ...types])) {
    if (type !== 'open' && type !== 'error') source.addEventListener(type, onEvent)
  }
  if (closeAfterMs !== undefined) setTimeout(() => source.close(), closeAfterMs)
  return runs.push({ source, seen }) - 1
}

function ours(url: string, { freshHeaders, body, ...init }: PlainOptions, seen: Seen): Resilient {
  return new Resilient(url, {
    ...init,
    ...(freshHeaders === undefined ? {} : { headers: () => freshHeaders }),
    ...(body === undefined ? {} : { body: () => body }),
    onComment: comment => void seen.comments.push(comment),
    onLifecycle: event => {
      const detail = 'phase' in event ? event.phase : 'reason' in event ? event.reason : undefined
      seen.lifecycle.push(detail === undefined ? event.type : `${event.type}: ${detail}`)
      if (event.type === 'close') seen.closed = event.reason
    },
  })
}

function runOf(id: number): Run {
  const run = runs[id]
  if (run === undefined) throw new Error(`no run ${id}`)
  return run
}

const tools = {
  start,
  look(id: number): Seen {
    const { source, seen } = runOf(id)
    return { ...seen, readyState: source.readyState }
  },
  close(id: number): void {
    runOf(id).source.close()
  },
}

declare global {
  var sse: typeof tools
}

globalThis.sse = tools
