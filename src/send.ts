import { SseHttpError } from './errors.ts'
import { type Dialled, type Hop, judged, requestOf } from './hop.ts'
import { parseUrl } from './http.ts'
import { isRedirect, publicUrl } from './outcome.ts'
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

/** What each request says beside what the stream itself has to say. */
export const PROTOCOL_HEADERS: Hop['protocolHeaders'] = [
  ['accept', 'text/event-stream'],
  ['cache-control', 'no-cache'],
  // A compressing proxy collects a block before it sends any of it.
  ['accept-encoding', 'identity'],
]

/** Sends the request and follows redirects, so that status, Location and what crosses origins stay in our hands. */
export async function send(
  first: Hop,
  transport: Transport,
  abort: AbortController,
  everOpened: boolean,
  onWritten: () => void,
): Promise<Dialled | undefined> {
  let hop = first
  for (let redirects = 0; ; redirects++) {
    // A listener for the dial may have closed the stream, and not every fetch looks at its signal.
    abort.signal.throwIfAborted()
    const init: RequestInit = { ...requestOf(hop, abort.signal), redirect: 'manual' }
    const answer = await transport.fetch(hop.url, init, onWritten)
    const { response } = answer
    if (!isRedirect(response.status))
      return judged(answer, hop.url, { abort, everOpened, mayBeUnframed: transport.mayBeUnframed })
    // Not awaited: under some fetches it never settles.
    response.body?.cancel().catch(() => {})
    hop = nextHop(hop, first.url, response, redirects)
  }
}

/** The request that a redirect leads to. @throws SseHttpError `ERR_SSE_REDIRECT` when it may not be followed. */
export function nextHop(hop: Hop, origin: URL, response: Response, redirects: number): Hop {
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
