import { SseError } from './errors.ts'
import { Failure } from './failure.ts'
import type { Dialled, Hop } from './hop.ts'
import { parseUrl, toHeaders } from './http.ts'
import { headerValue } from './layers/resume.ts'
import type { RequestContext, ResolvedOptions } from './options.ts'
import { dialFailure, functionFailure, publicUrl } from './outcome.ts'
import { race } from './race.ts'
import { PROTOCOL_HEADERS, send } from './send.ts'
import type { Transport } from './transport.ts'

/** What one dial needs to know of its stream. */
export interface DialContext extends RequestContext {
  everOpened: boolean
  openTimeoutMs: number
  /** Told once, when the URL is known. */
  onDial: (url: string) => void
}

/** One dial: URL, headers and body of the moment, redirects, the verdict on the answer. `undefined` for 204. @throws Failure */
export async function dial(
  options: ResolvedOptions,
  transport: Transport,
  context: DialContext,
): Promise<Dialled | undefined> {
  const startedAt = performance.now()
  const abort = new AbortController()
  let written = false
  let host = 'the server'
  const limit = setTimeout(
    () => abort.abort(openTimeout(context.openTimeoutMs, written)),
    context.openTimeoutMs,
  )
  const cancel = () => abort.abort(context.signal.reason)
  context.signal.addEventListener('abort', cancel, { once: true })
  // What the user's functions are told: their work is given up with the dial.
  const asked = { attempt: context.attempt, lastEventId: context.lastEventId, signal: abort.signal }
  try {
    context.signal.throwIfAborted()
    const dialled = await race(abort.signal, async () => {
      const target = await resolveUrl(options, asked)
      host = target.host
      // They may answer long after that, and then nothing follows.
      abort.signal.throwIfAborted()
      const hop = await firstHop(options, asked, target)
      abort.signal.throwIfAborted()
      context.onDial(publicUrl(target))
      return send(hop, transport, abort, context.everOpened, () => {
        written = true
      })
    })
    if (dialled === undefined) abort.abort()
    return dialled
  } catch (error) {
    // Frees the socket of an answer that was not a stream.
    abort.abort()
    // A TypeError of the user's own functions is a mistake, not the network's word for itself.
    const fromFetch = transport.custom && written
    const tookMs = performance.now() - startedAt
    const judged = dialFailure(error, host, fromFetch, context.everOpened, written)
    throw new Failure(judged, { opened: false, progress: 'nothing', events: 0, tookMs, written })
  } finally {
    clearTimeout(limit)
    context.signal.removeEventListener('abort', cancel)
  }
}

async function resolveUrl(options: ResolvedOptions, context: RequestContext): Promise<URL> {
  const { url: given } = options
  const url =
    typeof given === 'function' ? requestUrl(await ask('url', () => given(context))) : parseUrl(given)
  const { queryParameter } = options.resume || {}
  if (queryParameter !== undefined && context.lastEventId)
    url.searchParams.set(queryParameter, context.lastEventId)
  return url
}

/** Calls a function of the user's, whose failure names it. */
async function ask<Answer>(name: string, call: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await call()
  } catch (error) {
    throw functionFailure(name, error)
  }
}

/** What a `url` function gave: too late to be called an option. */
function requestUrl(given: unknown): URL {
  try {
    return parseUrl(given)
  } catch (error) {
    throw new SseError('ERR_SSE_REQUEST', (error as SseError).message)
  }
}

async function firstHop(options: ResolvedOptions, context: RequestContext, url: URL): Promise<Hop> {
  const { headers, body: makeBody } = options
  const given = typeof headers === 'function' ? await ask('headers', () => headers(context)) : headers
  const body = typeof makeBody === 'function' ? await ask('body', () => makeBody(context)) : makeBody
  const protocolHeaders = [...PROTOCOL_HEADERS]
  const id = context.lastEventId === undefined ? undefined : headerValue(context.lastEventId)
  if (id !== undefined) protocolHeaders.push(['last-event-id', id])
  const { queryParameter } = options.resume || {}
  const cursorInUrl = queryParameter !== undefined
  return { url, method: options.method, userHeaders: toHeaders(given), protocolHeaders, body, cursorInUrl }
}

/** No headers in time. `written`: the request had left. */
export function openTimeout(ms: number, written: boolean): SseError {
  const what = written ? 'No response headers' : 'No connection'
  return new SseError('ERR_SSE_OPEN_TIMEOUT', `${what} within openTimeoutMs, ${ms}`, { retryable: true })
}
