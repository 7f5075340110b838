import { get } from 'node:http'
import { createParser } from 'eventsource-parser'
import { type Client, type Listener, newestNode } from './client.ts'

/** What nobody can do without: undici's fetch and, to get at events, a decoder and the parser of most peers. */
export const FLOOR: Client = {
  name: 'fetch + decoder + parser',
  kind: 'floor',
  package: newestNode ? 'undici-newest' : 'undici',
  async open(url, listener) {
    const { fetch } = newestNode ? await import('undici-newest') : await import('undici')
    return readThrough(fetch as typeof globalThis.fetch, url, listener)
  },
}

/** Reads events through any fetch, again when a response has ended. The result stops it. */
export function readThrough(
  fetch: typeof globalThis.fetch,
  url: string,
  { onEvent, onEnd }: Listener,
): () => void {
  const abort = new AbortController()
  let lastEventId: string | undefined
  const read = async () => {
    const id: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const headers = { accept: 'text/event-stream', ...id }
    const response = await fetch(url, { signal: abort.signal, headers })
    const decoder = new TextDecoder()
    const parser = createParser({
      onEvent: ({ data, id }) => {
        lastEventId = id
        onEvent(data, id)
      },
    })
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }))
  }
  read().then(read).then(onEnd, onEnd)
  return () => abort.abort()
}

/** The least that a stream can cost on Node: a socket, and Node's own HTTP client. */
export const BARE_HTTP: Client = {
  name: 'node:http and nothing else',
  kind: 'floor',
  async open(url, { onEvent, onEnd }) {
    const request = get(url, { headers: { accept: 'text/event-stream' } }, response => {
      const parser = createParser({ onEvent: ({ data, id }) => onEvent(data, id) })
      response.on('data', (bytes: Buffer) => parser.feed(bytes.toString('latin1')))
      response.on('end', () => onEnd?.())
    })
    request.on('error', () => onEnd?.())
    return () => request.destroy()
  },
}

export const BARE_FETCH = 'fetch, bytes only'

/** Nothing but the bytes, until so many have come. */
export async function readBytes(url: string, bytes: number, onFirst: () => void): Promise<void> {
  const { fetch } = newestNode ? await import('undici-newest') : await import('undici')
  const { body } = await fetch(url)
  let read = 0
  for await (const chunk of body ?? []) {
    if (read === 0) onFirst()
    read += chunk.byteLength
    if (read >= bytes) return
  }
}
