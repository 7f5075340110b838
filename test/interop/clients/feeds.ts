import { fetchEventSource } from '@microsoft/fetch-event-source'
import { EventSource } from 'eventsource'
import { createEventSource } from 'eventsource-client'
import { createParser } from 'eventsource-parser'
import ky from 'ky'

/** A reader of event feeds that takes a `fetch`, with its own defaults for everything else. */
export interface FeedReader {
  name: string
  /** Reads until `signal` says that it is enough; resolves when the reader gives up, or is done. */
  read(
    fetch: typeof globalThis.fetch,
    url: string,
    onEvent: (id: string | undefined, data: string) => void,
    signal: AbortSignal,
  ): Promise<void>
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))

export const FEED_READERS: FeedReader[] = [
  {
    name: 'eventsource',
    async read(fetch, url, onEvent, signal) {
      const source = new EventSource(url, { fetch })
      source.onmessage = ({ lastEventId, data }) => onEvent(lastEventId, data)
      const gaveUp = new Promise<void>(resolve => {
        source.onerror = () => {
          if (source.readyState === source.CLOSED) resolve()
        }
      })
      await Promise.race([gaveUp, aborted(signal)])
      source.close()
    },
  },
  {
    name: 'eventsource-client',
    async read(fetch, url, onEvent, signal) {
      const source = createEventSource({ url, fetch, onMessage: ({ id, data }) => onEvent(id, data) })
      await aborted(signal)
      source.close()
    },
  },
  {
    name: '@microsoft/fetch-event-source',
    async read(fetch, url, onEvent, signal) {
      // It is made for pages, and looks for these two even where it is told not to.
      Object.assign(globalThis, { window: globalThis, document: { removeEventListener() {} } })
      const onmessage = ({ id, data }: { id: string; data: string }) => onEvent(id, data)
      await fetchEventSource(url, { fetch, signal, openWhenHidden: true, onmessage })
    },
  },
  {
    name: 'ky',
    async read(fetch, url, onEvent, signal) {
      const response = await ky(url, {
        fetch,
        signal,
        headers: { accept: 'text/event-stream' },
        timeout: false,
      })
      const parser = createParser({ onEvent: ({ id, data }) => onEvent(id, data) })
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      const decoder = new TextDecoder()
      signal.addEventListener('abort', () => void reader.cancel())
      for (let read = await reader.read(); !read.done; read = await reader.read())
        parser.feed(decoder.decode(read.value, { stream: true }))
    },
  },
]
