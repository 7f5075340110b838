import { type Dispatcher, type Response as UndiciResponse, fetch as undiciFetch } from 'undici'
import { agentOfRequest } from './dial-agent.ts'
import { type Hop, headersOf } from './hop.ts'
import { checkDispatcher, pooledDispatcher, type ResolvedTcp } from './layers/tcp.ts'
import { isRedirect } from './outcome.ts'
import { acceptsStream, initOf, type PlainRequest, plainRequest } from './plain-request.ts'
import { nextHop } from './send.ts'
import { type BodyHandler, rememberTap, TapSource } from './tap.ts'
import { forUndici } from './transport.ts'

/** Headers that say nothing of the user: another origin needs them, too, to answer as it should. */
const PROTOCOL_HEADERS = ['accept', 'accept-encoding', 'accept-language', 'cache-control', 'last-event-id']

export interface PlainFetchSettings {
  /** How long a body may be silent whose request does not say that it may be a stream; 0 is for ever. Default undici's. */
  bodyTimeoutMs?: number | undefined
  /** Whether a stream that is asked for by GET has a connection of its own. Default `'own'`. */
  streams?: 'own' | 'pooled' | undefined
  /** Event streams are to be read by a stream of this package, and not through `body`. */
  taps?: boolean | undefined
}

/**
 * A fetch for requests of every kind, with layer 1 under it and the redirect rules of a stream. Streams that are asked
 * for by GET have a connection of their own, as those of `ResilientSse`, or a pooled one; all others share idle ones.
 */
export function plainFetch(
  tcp: ResolvedTcp | false,
  customFetch: typeof globalThis.fetch | undefined,
  settings: PlainFetchSettings = {},
): typeof globalThis.fetch {
  const fetch = customFetch ?? ownFetch(tcp, settings)
  return async (input, init) => {
    const request = await plainRequest(input, init)
    // [Fetch] "manual" and "error" are wishes of the caller's.
    if ((request.rest.redirect ?? 'follow') !== 'follow') return fetch(request.url, initOf(request))
    let hop = firstHop(request)
    for (let redirects = 0; ; redirects++) {
      const rest: RequestInit = { ...request.rest, redirect: 'manual' }
      const response = await fetch(hop.url, initOf({ ...hop, headers: headersOf(hop), rest }))
      // [Fetch] one without a Location leads nowhere, and is the answer.
      if (!isRedirect(response.status) || !response.headers.has('location'))
        return redirects > 0 ? Object.defineProperty(response, 'redirected', { value: true }) : response
      // Not awaited: under some fetches it never settles.
      response.body?.cancel().catch(() => {})
      hop = nextHop(hop, request.url, response, redirects)
    }
  }
}

function firstHop({ url, method, headers, body }: PlainRequest): Hop {
  const protocolHeaders = PROTOCOL_HEADERS.map(name => [name, headers.get(name) ?? ''] as [string, string])
  const given = protocolHeaders.filter(([, value]) => value !== '')
  return { url, method, userHeaders: headers, protocolHeaders: given, body, cursorInUrl: false }
}

/** The second argument of undici's fetch has one thing more than the standard's. */
type UndiciInit = RequestInit & { dispatcher?: unknown }

function ownFetch(
  tcp: ResolvedTcp | false,
  { bodyTimeoutMs, streams = 'own', taps }: PlainFetchSettings,
): typeof globalThis.fetch {
  const pool = pooledDispatcher(tcp)
  const pooledStreams = withBodyTimeout(pool, 0)
  const pooled = bodyTimeoutMs === undefined ? pool : withBodyTimeout(pool, bodyTimeoutMs)
  const connect = (url: URL, { method = 'GET', headers, signal, dispatcher }: UndiciInit): Dispatcher => {
    const isStream = acceptsStream(new Headers(headers))
    // Clients hand on one that their user made, a proxy's say: to leave it out would be to go round that proxy.
    if (dispatcher !== undefined && dispatcher !== null) {
      checkDispatcher(dispatcher)
      return isStream ? withBodyTimeout(dispatcher, 0) : dispatcher
    }
    if (!isStream) return pooled
    return method === 'GET' && streams === 'own'
      ? withBodyTimeout(agentOfRequest(url, tcp, signal), 0)
      : pooledStreams
  }
  return async (input, init = {}) => {
    const url = input as URL
    const dispatcher = connect(url, init)
    const tap = new TapSource()
    const tapped = {
      dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
        return dispatcher.dispatch(
          options,
          tap.handlerFor(handler as BodyHandler, () => {}) as typeof handler,
        )
      },
    }
    const init7 = { ...init, body: forUndici(init.body), dispatcher: taps ? tapped : dispatcher }
    return rememberTap(ofPlatform(await undiciFetch(url, init7 as never)), tap)
  }
}

/** undici cancels the body of a response that was collected as garbage, although another one has that body. */
const originals = new WeakMap<Response, UndiciResponse>()

/**
 * The answer as the platform's own `Response`, which the undici of a package is not: clients ask for it by `instanceof`,
 * and the MCP SDKs then take an OAuth error for a failure of the server's.
 */
function ofPlatform(original: UndiciResponse): Response {
  const { body, status, statusText, url, type } = original
  const headers = new Headers([...original.headers] as [string, string][])
  const response = new Response(body as unknown as ReadableStream | null, { status, statusText, headers })
  originals.set(response, original)
  return Object.defineProperties(response, { url: { value: url }, type: { value: type } })
}

/** undici's 300 s would kill a stream that is quiet for good reason; layer 2 judges silence. */
function withBodyTimeout(dispatcher: Dispatcher, bodyTimeout: number): Dispatcher {
  return dispatcher.compose(dispatch => (options, handler) => dispatch({ ...options, bodyTimeout }, handler))
}
