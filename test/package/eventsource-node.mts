// Not run: compiled by test/package/tarball.mjs against the packed declarations, without the DOM's library, too.
import type { SseError } from 'resilient-sse'
import {
  type ErrorEvent,
  EventSource,
  EventSourceErrorEvent,
  type EventSourceInit,
  EventSourcePolyfill,
  type FetchLike,
} from 'resilient-sse/eventsource'
import { Agent, fetch as undiciFetch } from 'undici'

const source = new EventSource('http://127.0.0.1:1/')
source.onopen = event => event.type
source.onmessage = ({ data, lastEventId, origin }) => `${data}${lastEventId}${origin}`
source.onerror = ({ error, status, message, code }) => {
  const typed: SseError | undefined = error
  return [typed?.code, status, message, code]
}
source.onerror = null
// What Node's own class has, whose error events are not ours.
export const node: { onerror: ((event: Event & { error: Error }) => unknown) | null } = source
source.addEventListener('error', event => event.status)
source.addEventListener('message', event => event.data)
source.addEventListener('update', event => event.data, { once: true, signal: AbortSignal.timeout(1) })
source.addEventListener('update', { handleEvent: event => event.type })
source.addEventListener('update', null)
source.removeEventListener('update', () => {}, { capture: true })
export const states: (0 | 1 | 2)[] = [source.readyState, EventSource.CONNECTING, source.OPEN]
export const told = (event: Event): boolean => event instanceof EventSourceErrorEvent
export const isError = (event: ErrorEvent): number | undefined => event.code

// As the README of the package eventsource has it.
new EventSource('http://127.0.0.1:1/', {
  fetch: (input, init) =>
    fetch(input, { ...init, headers: { ...init.headers, Authorization: 'Bearer mine' } }),
})
// With another undici, and with the platform's own.
const dispatcher = new Agent()
new EventSource('http://127.0.0.1:1/', {
  fetch: (input, init) => undiciFetch(input, { ...init, dispatcher }),
})
export const fetches: FetchLike[] = [fetch, undiciFetch]

// Everything may be undefined, and null where the library takes it for nothing.
export const init: EventSourceInit = {
  withCredentials: undefined,
  headers: { a: undefined },
  heartbeatTimeout: undefined,
  maxBackoffMillis: null,
  errorFilter: ({ status }) => status !== 401,
  fetch: undefined,
  tcp: { keepAliveDelayMs: 5_000 },
}
new EventSourcePolyfill(new URL('http://127.0.0.1:1/'), init)
new EventSource('http://127.0.0.1:1/', null)

// @ts-expect-error: there is no such option
new EventSource('http://127.0.0.1:1/', { heartbeats: 5 })
// @ts-expect-error: an option of the library that cannot be honoured
new EventSource('http://127.0.0.1:1/', { agent: {} })
// @ts-expect-error: read-only
source.readyState = 1
