import { SseError } from '../errors.ts'
import type { TcpOptions } from '../layers/tcp.ts'
import { type ResilientSseOptions, resolveOptions } from '../options.ts'
import { isEventStream } from '../outcome.ts'
import { plainFetch } from '../plain-fetch.ts'
import { acceptsStream, initOf, type PlainRequest, plainRequest } from '../plain-request.ts'
import { resolveTcp } from '../tcp-group.ts'
import { outliving } from './fetch/outliving.ts'

/** The options of a stream, less those that each request brings itself. */
export type ResilientFetchOptions = Omit<ResilientSseOptions, keyof typeof NOT_HERE>

const NOT_HERE = {
  method: 'each request has its own',
  headers: 'each request has its own',
  body: 'each request has its own',
  signal: 'each request has its own',
  dispatcher: 'bind it to a fetch, and give that',
  maxConnectionMs: 'a request other than GET could not go on',
  reconnectOnEnd: 'what a clean end means is for the client to say',
  isRetryable: 'what is not a stream is for the client to judge',
} as const

/**
 * A `fetch` for any client that takes one. An event stream that answers a request outlives its connections: silence is
 * noticed, a GET whose events carry ids is resumed, and every other break is a typed error of the body. All else passes
 * through as it is, and nothing but a GET is ever sent again.
 *
 * `openTimeoutMs` holds for GETs that accept an event stream and nothing else: an answer to another request may take its
 * time, and a client that is told of a timeout may send it, and pay for it, again.
 *
 * @throws SseError `ERR_SSE_OPTION`, naming the option.
 */
export function resilientFetch(options: ResilientFetchOptions = {}): typeof globalThis.fetch {
  const { tcp, fetch, openTimeoutMs } = resolveOptions('http://unused.invalid', options)
  for (const [name, why] of Object.entries(NOT_HERE)) {
    if (name in options) throw new SseError('ERR_SSE_OPTION', `${name}: cannot take effect here; ${why}`)
  }
  for (const name of ['store', 'lastEventId'] as const) {
    if (options.resume && options.resume[name] !== undefined)
      throw new SseError(
        'ERR_SSE_OPTION',
        `resume.${name}: cannot take effect here; each request has its own cursor`,
      )
  }
  const plain = plainFetch(tcp, fetch)
  return async (input, init) => {
    const request = await plainRequest(input, init)
    // A compressing proxy collects a block before it sends any of it.
    if (acceptsStream(request.headers) && !request.headers.has('accept-encoding'))
      request.headers.set('accept-encoding', 'identity')
    const isStream = request.method === 'GET' && acceptsStream(request.headers)
    const response = isStream
      ? await withinOpenTimeout(openTimeoutMs, request, plain)
      : await plain(request.url, initOf(request))
    if (response.status !== 200 || response.body === null || !isEventStream(response.headers)) return response
    return outliving(response, request, plain, options)
  }
}

async function withinOpenTimeout(
  ms: number,
  request: PlainRequest,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  const limit = new AbortController()
  const timer = setTimeout(
    () =>
      limit.abort(
        new SseError('ERR_SSE_OPEN_TIMEOUT', `No response headers within openTimeoutMs, ${ms}`, {
          retryable: true,
        }),
      ),
    ms,
  )
  const given = request.rest.signal
  const signal = given ? AbortSignal.any([given, limit.signal]) : limit.signal
  try {
    return await fetch(request.url, { ...initOf(request), signal })
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Layer 1 alone: a `fetch` with TCP keepalive, connections that are kept for the next request, and the redirect rules of
 * a stream. A stream that is asked for by GET has a connection of its own, which an abort ends in every state.
 *
 * @throws SseError `ERR_SSE_OPTION`, naming the option.
 */
export function keepaliveFetch(tcp?: TcpOptions | false): typeof globalThis.fetch {
  return plainFetch(tcp === false ? false : resolveTcp(tcp), undefined)
}
