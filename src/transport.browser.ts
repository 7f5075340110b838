import { SseError } from './errors.ts'
import { foreignTransport, type Transport } from './foreign-transport.ts'

export type { Transport } from './foreign-transport.ts'

/** The browser's own fetch, or the user's. Layer 1 is the browser's. */
export function createTransport(
  _tcp: unknown,
  _dispatcher: unknown,
  customFetch: typeof globalThis.fetch | undefined,
): Transport {
  // Called as a method of nothing, the browser's own refuses.
  const fetch = customFetch ?? globalThis.fetch.bind(globalThis)
  return foreignTransport(async (input, init) => {
    try {
      return await fetch(input, init)
    } catch (error) {
      throw blockedByCors(input as URL, init) ? corsSuspected(input as URL, error) : error
    }
  })
}

/** A browser does not tell a refusal by CORS from a network that is down, but only across origins can it be the first. */
function blockedByCors(url: URL, init: RequestInit | undefined): boolean {
  return !init?.signal?.aborted && url.origin !== globalThis.location?.origin
}

function corsSuspected(url: URL, cause: unknown): SseError {
  const text = `No answer from ${url.host} that this page may read: the network failed, or its CORS headers do not allow this origin or a request header`
  return new SseError('ERR_SSE_NETWORK', text, { cause, retryable: true })
}
