import { type Dispatcher, FormData as UndiciFormData, fetch as undiciFetch } from 'undici'
import { type BodyHandler, type ByteSource, StreamSource, TapSource } from './body.ts'
import { SseError } from './errors.ts'
import { DialAgent, type ResolvedTcp } from './layers/tcp.ts'

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

/** undici's own fetch bound to layer 1's agent (an Agent handed to another fetch fails), or the user's. */
export function createTransport(
  tcp: ResolvedTcp | false,
  dispatcher: Dispatcher | undefined,
  customFetch: typeof globalThis.fetch | undefined,
): Transport {
  if (customFetch !== undefined) {
    return {
      async fetch(url, init, onWritten) {
        onWritten()
        const response = await customFetch(url, init)
        checkResponse(response)
        // An answer that comes although the dial was given up must not keep its connection.
        if (init.signal?.aborted) response.body?.cancel().catch(() => {})
        return { response, body: () => new StreamSource(response) }
      },
      custom: true,
      mayBeUnframed: true,
    }
  }
  return {
    async fetch(url, init, onWritten) {
      const agent = dispatcher ?? ownAgent(url, tcp, init.signal)
      const tap = new TapSource()
      // A dispatcher for one dial, to learn that its request has left and to take its body.
      const dial = {
        dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
          tap.attach(handler as BodyHandler, onWritten)
          return agent.dispatch(options, handler)
        },
      }
      const init7 = { ...init, body: forUndici(init.body), dispatcher: dial }
      const response = (await undiciFetch(url, init7 as never)) as unknown as Response
      return { response, body: () => (tap.tapped ? tap.of(response) : new StreamSource(response)) }
    },
    custom: false,
    mayBeUnframed: dispatcher !== undefined || (tcp !== false && tcp.allowH2),
  }
}

/** An agent that ends with the dial, or with the connection that the dial became. */
function ownAgent(url: URL, tcp: ResolvedTcp | false, signal: RequestInit['signal']): Dispatcher {
  const agent = new DialAgent(tcp)
  signal?.addEventListener('abort', () => agent.destroy(), { once: true })
  return agent.for(url.origin)
}

/** undici sends the platform's own FormData as "[object FormData]". */
function forUndici(body: RequestInit['body']): unknown {
  if (!(body instanceof FormData)) return body
  const copy = new UndiciFormData()
  for (const [name, value] of body) copy.append(name, value as string)
  return copy
}

/** Refuses what a fetch of another kind gives (a Node stream as body, say): asking again would not change it. */
function checkResponse(response: unknown): void {
  const { status, headers, body } = (response ?? {}) as { status: unknown; headers?: Headers; body: unknown }
  const readable = !body || typeof (body as ReadableStream).getReader === 'function'
  if (typeof status === 'number' && typeof headers?.get === 'function' && readable) return
  throw new SseError('ERR_SSE_REQUEST', 'fetch: what it gave is not a Response whose body is a web stream')
}
