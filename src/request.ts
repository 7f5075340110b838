import type { ByteSource } from './body.ts'
import { SseError, SseHttpError } from './errors.ts'
import { Failure } from './failure.ts'
import { headerValue } from './layers/resume.ts'
import type { BodyOption, HeadersOption, RequestContext, ResolvedOptions } from './options.ts'
import { dialFailure, functionFailure, hasFraming, isRedirect, judgeResponse, publicUrl } from './outcome.ts'
import { race } from './race.ts'
import type { Transport } from './transport.ts'

/** [HTML] and [Fetch] both stop after 20. */
const MAX_REDIRECTS = 20
/** Headers that describe a body, which a redirect to GET leaves behind. */
const CONTENT_HEADERS = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
]
const METHODS_WITHOUT_BODY = new Set(['GET', 'HEAD'])
const NO_HEADERS = 'neither an object nor Headers nor a list of pairs'

/** What one dial needs to know of its stream. */
export interface DialContext extends RequestContext {
  everOpened: boolean
  openTimeoutMs: number
  /** Told once, when the URL is known. */
  onDial: (url: string) => void
}

export interface Dialled {
  response: Response
  body: ByteSource
  url: string
  /** Ends the request; its reason never reaches the server. */
  abort: AbortController
  cleanEnd: boolean
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
      return follow(hop, transport, abort, context.everOpened, () => {
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

interface Hop {
  url: URL
  method: string
  /** The user's headers, as long as the dial has not left the user's origin. */
  userHeaders: Headers
  protocolHeaders: [name: string, value: string][]
  body: BodyOption | null | undefined
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

/** The URL as an object, or `ERR_SSE_OPTION` in words that do not repeat it: it may hold secrets. */
export function parseUrl(given: unknown): URL {
  let url: URL
  try {
    url = new URL(String(given))
  } catch {
    throw new SseError('ERR_SSE_OPTION', 'url: not an absolute URL')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new SseError('ERR_SSE_OPTION', `url: ${url.protocol} is not http: or https:`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new SseError('ERR_SSE_OPTION', 'url: holds credentials; send them as headers: { authorization }')
  }
  url.hash = ''
  return url
}

async function firstHop(options: ResolvedOptions, context: RequestContext, url: URL): Promise<Hop> {
  const { headers, body: makeBody } = options
  const given = typeof headers === 'function' ? await ask('headers', () => headers(context)) : headers
  const body = typeof makeBody === 'function' ? await ask('body', () => makeBody(context)) : makeBody
  const protocolHeaders: Hop['protocolHeaders'] = [
    ['accept', 'text/event-stream'],
    ['cache-control', 'no-cache'],
    // A compressing proxy collects a block before it sends any of it.
    ['accept-encoding', 'identity'],
  ]
  const id = context.lastEventId === undefined ? undefined : headerValue(context.lastEventId)
  if (id !== undefined) protocolHeaders.push(['last-event-id', id])
  return { url, method: options.method, userHeaders: toHeaders(given), protocolHeaders, body }
}

/** RFC 9110, 5.5, with outer white space, which is trimmed. */
const FIELD_VALUE = /^[\t\n\r \x21-\x7e\x80-\xff]*$/

/** `Headers`, with an error that names the header and never repeats its value. */
export function toHeaders(given: HeadersOption | undefined): Headers {
  const headers = new Headers()
  if (given === undefined || given === null) return headers
  if (typeof given !== 'object') throw new SseError('ERR_SSE_REQUEST', `headers: ${NO_HEADERS}`)
  // A Map and the Headers of undici are iterable, and no instances of the platform's Headers.
  const entries: Iterable<unknown> = Symbol.iterator in given ? given : Object.entries(given)
  for (const entry of entries) {
    if (!Array.isArray(entry)) throw new SseError('ERR_SSE_REQUEST', `headers: ${NO_HEADERS}`)
    const [name, value] = entry
    if (value === undefined || value === null) continue
    try {
      // The platform's Headers let control characters through, on which only the connection stumbles.
      if (!FIELD_VALUE.test(String(value))) throw new TypeError('not a field value')
      headers.append(String(name), String(value))
    } catch {
      throw new SseError(
        'ERR_SSE_REQUEST',
        `headers: ${JSON.stringify(name)} has a name or value that HTTP does not allow`,
      )
    }
  }
  return headers
}

/** Sends the request and follows redirects, so that status, Location and what crosses origins stay in our hands. */
async function follow(
  first: Hop,
  transport: Transport,
  abort: AbortController,
  everOpened: boolean,
  onWritten: () => void,
): Promise<Dialled | undefined> {
  let hop = first
  for (let redirects = 0; ; redirects++) {
    const headers = new Headers(hop.userHeaders)
    for (const [name, value] of hop.protocolHeaders)
      if (!headers.has(name) || name === 'last-event-id') headers.set(name, value)
    const init: RequestInit & { duplex?: 'half' } = {
      method: hop.method,
      headers,
      redirect: 'manual',
      signal: abort.signal,
    }
    if (hop.body !== undefined && hop.body !== null) init.body = hop.body as BodyInit
    // [Fetch] a stream may be sent only with this said.
    if (hop.body instanceof ReadableStream) init.duplex = 'half'
    // A listener for the dial may have closed the stream, and not every fetch looks at its signal.
    abort.signal.throwIfAborted()
    const { response, body } = await transport.fetch(hop.url, init, onWritten)
    if (!isRedirect(response.status)) {
      const verdict = judgeResponse(response, hop.url, everOpened)
      if (verdict === 'end') return undefined
      if (verdict !== undefined) throw verdict
      const cleanEnd = hasFraming(response.headers, transport.mayBeUnframed)
      return { response, body: body(), url: publicUrl(hop.url), abort, cleanEnd }
    }
    // Not awaited: under some fetches it never settles.
    response.body?.cancel().catch(() => {})
    hop = nextHop(hop, first.url, response, redirects)
  }
}

function nextHop(hop: Hop, origin: URL, response: Response, redirects: number): Hop {
  const refuse = (why: string) => {
    const { status, headers } = response
    const url = publicUrl(hop.url)
    return new SseHttpError('ERR_SSE_REDIRECT', `${url} answered ${status} ${why}`, { status, url, headers })
  }
  if (redirects >= MAX_REDIRECTS) throw refuse(`, and so did ${MAX_REDIRECTS} addresses before it`)
  const location = response.headers.get('location')
  let url: URL
  try {
    if (!location) throw new Error('missing')
    url = parseUrl(new URL(location, hop.url))
  } catch {
    throw refuse('without a usable Location')
  }
  // [Fetch] 303, and 301 or 302 in answer to POST, continue as GET without the body.
  const { status } = response
  const toGet =
    (status === 303 && hop.method !== 'HEAD') || ((status === 301 || status === 302) && hop.method === 'POST')
  const next: Hop = { ...hop, url }
  if (toGet) {
    next.method = 'GET'
    next.body = undefined
    next.userHeaders = new Headers(hop.userHeaders)
    for (const name of CONTENT_HEADERS) next.userHeaders.delete(name)
  }
  if (url.origin === origin.origin) return next
  if (next.body !== undefined && next.body !== null)
    throw refuse('to another origin, which must not be sent the body')
  // Off the user's origin the user's headers stay off for this dial, even on the way back.
  next.userHeaders = new Headers()
  return next
}

export function mayHaveBody(method: string): boolean {
  return !METHODS_WITHOUT_BODY.has(method)
}

function openTimeout(ms: number, written: boolean): SseError {
  const what = written ? 'No response headers' : 'No connection'
  return new SseError('ERR_SSE_OPEN_TIMEOUT', `${what} within openTimeoutMs, ${ms}`, { retryable: true })
}
