import { checkGroup, checkOneOf } from '../checks.ts'
import type { TcpOptions } from '../layers/tcp.ts'
import { type ResilientSseOptions, resolveOptions } from '../options.ts'
import { isEventStream } from '../outcome.ts'
import { plainFetch } from '../plain-fetch.ts'
import { acceptsStream, initOf, plainRequest } from '../plain-request.ts'
import { resolveTcp } from '../tcp-group.ts'
import { throughBreaker } from './fetch/admitted.ts'
import { checkOptionsOf, type NotHere, streamSilenceMs } from './fetch/options.ts'
import { outliving } from './fetch/outliving.ts'
import { withinOpenTimeout } from './fetch/patience.ts'

/** The options of a stream, less those that each request brings itself. */
export type ResilientFetchOptions = Omit<ResilientSseOptions, NotHere>

/**
 * A `fetch` for any client that takes one. An event stream that answers a request outlives its connections: silence is
 * noticed, a GET whose events carry ids is resumed, and every other break is a typed error of the body. All else passes
 * through as it is, and nothing but a GET is ever sent again.
 *
 * `openTimeoutMs` and a shared `Breaker` hold for GETs that accept an event stream and nothing else: an answer to another
 * request may take its time, and a client that is told of a failure may send it, and pay for it, again.
 *
 * Make one and keep it: its idle connections serve the next requests.
 *
 * @throws SseError `ERR_SSE_OPTION`, naming the option. The fetch itself rejects as any other does, and beyond that with
 * `ERR_SSE_OPEN_TIMEOUT`, `ERR_SSE_REDIRECT` and `ERR_SSE_CIRCUIT_OPEN`; reading the body rejects with every other code.
 */
export function resilientFetch(options: ResilientFetchOptions = {}): typeof globalThis.fetch {
  checkOptionsOf(options)
  const { tcp, fetch, openTimeoutMs, heartbeat } = resolveOptions('http://unused.invalid', options)
  const plain = plainFetch(tcp, fetch, { bodyTimeoutMs: streamSilenceMs(heartbeat), taps: true })
  return async (input, init) => {
    const request = await plainRequest(input, init)
    const acceptsOne = acceptsStream(request.headers)
    // A compressing proxy collects a block before it sends any of it.
    if (acceptsOne && !request.headers.has('accept-encoding'))
      request.headers.set('accept-encoding', 'identity')
    const asker = {}
    const response =
      acceptsOne && request.method === 'GET'
        ? await throughBreaker(options.breaker, asker, () => withinOpenTimeout(openTimeoutMs, request, plain))
        : await plain(request.url, initOf(request))
    const isStream = response.status === 200 && response.body !== null && isEventStream(response.headers)
    return isStream && /^https?:$/.test(request.url.protocol)
      ? outliving(response, request, plain, options, asker)
      : response
  }
}

/**
 * Layer 1 alone: a `fetch` with TCP keepalive, connections that are kept for the next request, and the redirect rules of
 * a stream. A stream that is asked for by GET has a connection of its own, which an abort ends in every state.
 *
 * `streams: 'pooled'` gives it a kept connection like any other request. It leaves at once where another connection has to
 * be made first, and later requests would overtake it; but a kept connection may turn out to be closed.
 *
 * @throws SseError `ERR_SSE_OPTION`, naming the option.
 */
export function keepaliveFetch(
  tcp?: TcpOptions | false,
  options: { streams?: 'own' | 'pooled' | undefined } = {},
): typeof globalThis.fetch {
  checkGroup('options', options, ['streams'], 'an object')
  const { streams = 'own' } = options
  checkOneOf('streams', streams, ['own', 'pooled'])
  return plainFetch(tcp === false ? false : resolveTcp(tcp), undefined, { streams })
}
