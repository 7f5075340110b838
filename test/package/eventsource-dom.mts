// Not run: compiled by test/package/tarball.mjs against the packed declarations, with the DOM's library.
import { EventSource, type EventSourceInit } from 'resilient-sse/eventsource'

/** An application, or a library, that is handed the class. */
function subscribe(Source: typeof globalThis.EventSource, init?: globalThis.EventSourceInit) {
  const source = new Source('/events', init)
  source.onmessage = ({ data }: MessageEvent<string>) => data.length
  return source
}
export const subscribed: globalThis.EventSource = subscribe(EventSource, { withCredentials: true })
export const one: globalThis.EventSource = new EventSource('/events')
globalThis.EventSource = EventSource
export const state: number = one.readyState

// Handlers that were made for the DOM's types.
const source = new EventSource('/events', {} satisfies globalThis.EventSourceInit)
const onMessage = function (this: globalThis.EventSource, event: MessageEvent): void {
  this.dispatchEvent(event)
}
const onEvent: (this: globalThis.EventSource, event: Event) => unknown = event => event.type
const listener: EventListener = event => event.type
const object: EventListenerObject = { handleEvent: event => event.type }
const either: EventListenerOrEventListenerObject = Math.random() > 0.5 ? listener : object
source.onopen = onEvent
source.onmessage = onMessage
source.onerror = onEvent
source.onmessage = one.onmessage
for (const each of [listener, object, either]) {
  source.addEventListener('update', each)
  source.removeEventListener('update', each)
}
source.addEventListener('error', onEvent)
source.addEventListener('message', onMessage, { passive: true } satisfies AddEventListenerOptions)
source.addEventListener('update', (event: MessageEvent<string>) => event.data.length)

export const init: EventSourceInit = {
  ...({ withCredentials: true } as globalThis.EventSourceInit),
  retry: 5,
}
