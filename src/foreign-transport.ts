import { type ByteSource, StreamSource } from './body.ts'
import { SseError } from './errors.ts'
import { tapOf } from './tap.ts'

/** A `fetch`, and what it can tell beyond the standard. */
export interface Transport {
  /** `onWritten` is called when the request has left; a custom fetch cannot tell and is given the benefit of doubt. */
  fetch(
    url: URL,
    init: RequestInit,
    onWritten: () => void,
  ): Promise<{ response: Response; body: () => ByteSource }>
  /** Whether the user brought the fetch. */
  custom: boolean
  /** Whether a response may legitimately show no framing (HTTP/2, custom fetches). */
  mayBeUnframed: boolean
}

/** A fetch that is not ours: the user's, or the browser's. */
export function foreignTransport(fetch: typeof globalThis.fetch): Transport {
  return {
    async fetch(url, init, onWritten) {
      onWritten()
      // Plain, because wrappers spread them: `{ ...init.headers, authorization }` loses all that a `Headers` holds.
      const headers = Object.fromEntries(new Headers(init.headers))
      const response = await fetch(url, { ...init, headers })
      checkResponse(response)
      // An answer that comes although the dial was given up must not keep its connection.
      if (init.signal?.aborted) response.body?.cancel().catch(() => {})
      return { response, body: () => tapOf(response, init.signal) ?? new StreamSource(response) }
    },
    custom: true,
    mayBeUnframed: true,
  }
}

/** Refuses what a fetch of another kind gives (a Node stream as body, say): asking again would not change it. */
function checkResponse(response: unknown): void {
  const { status, headers, body } = (response ?? {}) as { status: unknown; headers?: Headers; body: unknown }
  const readable = !body || typeof (body as ReadableStream).getReader === 'function'
  if (typeof status === 'number' && typeof headers?.get === 'function' && readable) return
  throw new SseError('ERR_SSE_REQUEST', 'fetch: what it gave is not a Response whose body is a web stream')
}
