import { fetch as undiciFetch } from 'undici'
import { agentOfDial } from './dial-agent.ts'
import type { Hop } from './hop.ts'
import { pooledDispatcher, type ResolvedTcp } from './layers/tcp.ts'
import { isRedirect } from './outcome.ts'
import { acceptsStream, initOf, plainRequest } from './plain-request.ts'
import { nextHop } from './send.ts'
import { forUndici } from './transport.ts'

/**
 * A fetch for requests of every kind, with layer 1 under it and the redirect rules of a stream. Streams that are asked
 * for by GET have a connection of their own, as those of `ResilientSse`; all others share idle ones.
 */
export function plainFetch(
  tcp: ResolvedTcp | false,
  customFetch: typeof globalThis.fetch | undefined,
): typeof globalThis.fetch {
  const fetch = customFetch ?? ownFetch(tcp)
  return async (input, init) => {
    const request = await plainRequest(input, init)
    // [Fetch] "manual" and "error" are wishes of the caller's.
    if ((request.rest.redirect ?? 'follow') !== 'follow') return fetch(request.url, initOf(request))
    let hop: Hop = { ...request, userHeaders: request.headers, protocolHeaders: [], cursorInUrl: false }
    for (let redirects = 0; ; redirects++) {
      const { url, method, userHeaders: headers, body } = hop
      const rest: RequestInit = { ...request.rest, redirect: 'manual' }
      const response = await fetch(url, initOf({ url, method, headers, body, rest }))
      if (!isRedirect(response.status)) return response
      // Not awaited: under some fetches it never settles.
      response.body?.cancel().catch(() => {})
      hop = nextHop(hop, request.url, response, redirects)
    }
  }
}

function ownFetch(tcp: ResolvedTcp | false): typeof globalThis.fetch {
  const pool = pooledDispatcher(tcp)
  return async (input, init = {}) => {
    const url = input as URL
    const isStream = acceptsStream(new Headers(init.headers))
    const agent = isStream && (init.method ?? 'GET') === 'GET' ? agentOfDial(url, tcp, init.signal) : pool
    // undici's 300 s would kill a stream that is quiet for good reason; layer 2 judges silence.
    const dispatcher = isStream
      ? agent.compose(dispatch => (options, handler) => dispatch({ ...options, bodyTimeout: 0 }, handler))
      : agent
    return (await undiciFetch(url, {
      ...init,
      body: forUndici(init.body),
      dispatcher,
    } as never)) as unknown as Response
  }
}
