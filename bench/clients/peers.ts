import { type Client, type EventSourceLike, follow, newestNode } from './client.ts'

/** Libraries that people use today, with their own defaults where a benchmark does not shorten a time. */
export const PEERS: Client[] = [
  {
    name: 'eventsource',
    kind: 'peer',
    package: newestNode ? 'eventsource-newest' : 'eventsource',
    async open(url, listener) {
      const { EventSource } = newestNode ? await import('eventsource-newest') : await import('eventsource')
      return follow(new EventSource(url) as EventSourceLike, listener)
    },
  },
  {
    name: 'eventsource-client',
    kind: 'peer',
    package: 'eventsource-client',
    async open(url, { onEvent, onTrouble }) {
      const { createEventSource } = await import('eventsource-client')
      const source = createEventSource({
        url,
        onMessage: ({ data, id }: { data: string; id?: string }) => onEvent(data, id),
        onDisconnect: onTrouble,
      })
      return () => source.close()
    },
  },
  {
    name: 'undici EventSource',
    kind: 'peer',
    package: newestNode ? 'undici-newest' : 'undici',
    async open(url, listener, { retryMs } = {}) {
      const { EventSource } = newestNode ? await import('undici-newest') : await import('undici')
      const options = retryMs === undefined ? {} : { node: { reconnectionTime: retryMs } }
      return follow(new EventSource(url, options) as unknown as EventSourceLike, listener)
    },
  },
  {
    name: 'launchdarkly-eventsource',
    kind: 'peer',
    package: 'launchdarkly-eventsource',
    async open(url, listener, { silenceMs, retryMs } = {}) {
      const { default: launchdarkly } = await import('launchdarkly-eventsource')
      const options = {
        ...(silenceMs !== undefined && { readTimeoutMillis: silenceMs }),
        ...(retryMs !== undefined && { initialRetryDelayMillis: retryMs }),
      }
      return follow(new launchdarkly.EventSource(url, options) as EventSourceLike, listener)
    },
  },
  {
    name: 'extended-eventsource',
    kind: 'peer',
    package: 'extended-eventsource',
    async open(url, listener, { retryMs } = {}) {
      const { EventSource } = await import('extended-eventsource')
      const options = { disableLogger: true, ...(retryMs !== undefined && { retry: retryMs }) }
      return follow(new EventSource(url, options) as EventSourceLike, listener)
    },
  },
  {
    name: 'event-source-polyfill',
    kind: 'peer',
    package: 'event-source-polyfill',
    async open(url, listener, { silenceMs } = {}) {
      const { default: polyfill } = await import('event-source-polyfill')
      // It takes nothing below a second.
      const options = silenceMs === undefined ? {} : { heartbeatTimeout: Math.max(1_000, silenceMs) }
      return follow(new polyfill.EventSourcePolyfill(url, options) as EventSourceLike, listener)
    },
  },
  {
    name: '@microsoft/fetch-event-source',
    kind: 'peer',
    package: '@microsoft/fetch-event-source',
    async open(url, { onEvent, onTrouble, onEnd }) {
      // It was written for pages, and takes these for granted.
      const document = { hidden: false, addEventListener() {}, removeEventListener() {} }
      Object.assign(globalThis, { window: globalThis, document })
      const { fetchEventSource } = await import('@microsoft/fetch-event-source')
      const abort = new AbortController()
      const stream = fetchEventSource(url, {
        signal: abort.signal,
        onmessage: ({ data, id }: { data: string; id: string }) => onEvent(data, id),
        onerror: () => onTrouble?.(),
      })
      stream.then(onEnd, onEnd)
      return () => abort.abort()
    },
  },
]
