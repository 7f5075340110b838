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
      const isForeign = (input as URL).origin !== globalThis.origin
      throw isForeign && !init?.signal?.aborted ? unanswered(input as URL, init, error) : error
    }
  })
}

/** [Fetch] "CORS-safelisted request-header": any other asks for a preflight. `Content-Type` may be one or not. */
const SAFELISTED = new Set(['accept', 'accept-language', 'content-language', 'content-type'])

/** A browser does not tell a refusal by CORS from a network that is down, but only across origins can it be the first. */
function unanswered(url: URL, init: RequestInit | undefined, cause: unknown): SseError {
  const told = { cause, retryable: true }
  // Bun, which has no origin, has codes of its own instead.
  if (globalThis.origin === undefined) {
    const { code } = cause as { code?: unknown }
    return new SseError('ERR_SSE_NETWORK', `No answer from ${url.host}${code ? ` (${code})` : ''}`, told)
  }
  const asking = [...new Headers(init?.headers).keys()].filter(name => !SAFELISTED.has(name))
  const allowed = asking.length === 0 ? '' : ` or the request header ${asking.join(', ')}`
  const hint = asking.includes('last-event-id') ? '; resume.queryParameter does without that header' : ''
  const text = `No answer from ${url.host} that this page may read: the network failed, or its CORS headers do not allow this origin${allowed}${hint}`
  return new SseError('ERR_SSE_NETWORK', text, told)
}
