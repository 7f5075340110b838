import type { ByteSource } from './body.ts'
import type { BodyOption } from './options.ts'
import { hasFraming, judgeResponse, publicUrl } from './outcome.ts'
import type { Transport } from './transport.ts'

/** A request of a dial: the first one, or the one that a redirect leads to. */
export interface Hop {
  url: URL
  method: string
  /** The user's headers, as long as the dial has not left the user's origin. */
  userHeaders: Headers
  protocolHeaders: [name: string, value: string][]
  body: BodyOption | null | undefined
  /** Whether the URL carries the cursor, too. */
  cursorInUrl: boolean
}

/** An answer that is an event stream. */
export interface Dialled {
  response: Response
  body: ByteSource
  url: string
  /** Ends the request; its reason never reaches the server. */
  abort: AbortController
  cleanEnd: boolean
}

/** The user's headers win, except over the cursor. */
export function headersOf({ userHeaders, protocolHeaders }: Hop): Headers {
  const headers = new Headers(userHeaders)
  for (const [name, value] of protocolHeaders)
    if (!headers.has(name) || name === 'last-event-id') headers.set(name, value)
  return headers
}

/** What both platforms tell their fetch. */
export function requestOf(hop: Hop, signal: AbortSignal): RequestInit & { headers: Headers } {
  const headers = headersOf(hop)
  const init: RequestInit & { headers: Headers; duplex?: 'half' } = { method: hop.method, headers, signal }
  if (hop.body !== undefined && hop.body !== null) init.body = hop.body as BodyInit
  // [Fetch] a stream may be sent only with this said.
  if (hop.body instanceof ReadableStream) init.duplex = 'half'
  return init
}

/** The stream that an answer is, or the verdict on it; `undefined` for 204. */
export function judged(
  { response, body }: Awaited<ReturnType<Transport['fetch']>>,
  url: URL,
  context: { abort: AbortController; everOpened: boolean; mayBeUnframed: boolean },
): Dialled | undefined {
  const verdict = judgeResponse(response, url, context.everOpened)
  if (verdict === 'end') return undefined
  if (verdict !== undefined) throw verdict
  const cleanEnd = hasFraming(response.headers, context.mayBeUnframed)
  return { response, body: body(), url: publicUrl(url), abort: context.abort, cleanEnd }
}
