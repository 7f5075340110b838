import { isEventStream, isTakenOver } from './accept.ts'
import { CallRegister } from './cancelled.ts'
import { isWithoutResume } from './era.ts'
import { Handovers } from './handover.ts'
import { type Message, messagesIn, requestsIn } from './messages.ts'
import { type McpFetchOptions, type McpSettings, resolveMcpOptions } from './options.ts'
import { mayReissue, RenamedIds } from './reissue.ts'
import { ReissuedStream } from './reissued-stream.ts'
import { acceptsStream, type McpRequest, readRequest } from './request.ts'
import { RequestStream, type Shared } from './request-stream.ts'
import { resumeHeaders } from './resume-request.ts'
import { isStale } from './stale.ts'
import { StandaloneStream } from './standalone-stream.ts'

/**
 * A `fetch` for the Streamable HTTP transports of the official MCP SDKs, v1 and v2: streams outlive their connections,
 * and a call whose stream cannot is answered with a JSON-RPC error instead of being left to hang. No POST is sent twice.
 *
 * `new StreamableHTTPClientTransport(url, { fetch: mcpFetch() })`
 *
 * @throws SseError `ERR_SSE_OPTION`, naming the option.
 */
export function mcpFetch(options: McpFetchOptions = {}): typeof globalThis.fetch {
  const settings = resolveMcpOptions(options)
  const shared: Shared = { settings, register: new CallRegister(), handovers: new Handovers() }
  const renamed = new RenamedIds()
  return async (input, init) => {
    const request = await readRequest(input, init)
    if (!acceptsStream(request.headers)) return settings.fetch(input, init)
    if (request.method === 'POST') {
      const messages = messagesIn(request.text)
      if (isWithoutResume(request, messages)) return postAnew(request, messages, settings, renamed)
      return post(request, messages, shared)
    }
    return request.method === 'GET' ? get(request, shared) : settings.fetch(request.url, request.init)
  }
}

/** Messages to the server; the answer to a request may be a stream. */
async function post(request: McpRequest, messages: readonly Message[], shared: Shared): Promise<Response> {
  const session = request.headers.get('mcp-session-id')
  shared.register.heed(session, messages)
  shared.handovers.heed(session, messages)
  const answer = await shared.settings.fetch(request.url, request.init)
  const requests = requestsIn(messages)
  const [first] = requests
  if (!isTakenOver(request, answer) || first === undefined) return answer
  const headers = resumeHeaders(request, answer, messages)
  return new RequestStream(answer, request, { requests, headers, mayHandOver: true }, shared).response
}

/** From 2026-07-28 on, an answer that is lost can only be asked for anew, where the request may be sent again. */
async function postAnew(
  request: McpRequest,
  messages: readonly Message[],
  settings: McpSettings,
  renamed: RenamedIds,
): Promise<Response> {
  const body = renamed.cancellation(messages) ?? request.init.body
  const sending = settings.fetch(request.url, body === undefined ? request.init : { ...request.init, body })
  const [first, ...others] = requestsIn(messages)
  // There are no batches: what a server makes of one is its own affair.
  if (first === undefined || others.length > 0) return sending
  const answer = await sending.catch(error => {
    const isLost = isStale(error) && !request.signal?.aborted
    if (!isLost || !mayReissue(first, settings.resendTool)) throw error
    return undefined
  })
  if (answer !== undefined && !isTakenOver(request, answer)) return answer
  return new ReissuedStream(answer, request, first, settings, renamed).response
}

/** A stream that the SDK opens: the standalone one, or one that it resumes itself. */
async function get(request: McpRequest, shared: Shared): Promise<Response> {
  const session = request.headers.get('mcp-session-id')
  const cursor = request.headers.get('last-event-id') ?? ''
  if (shared.handovers.at(session, cursor) !== undefined) return handedOver(request, session, cursor, shared)
  const answer = await shared.settings.openStream(request.url, request.init)
  if (isTakenOver(request, answer)) return new StandaloneStream(answer, request, shared).response
  if (answer.status !== 200 || isEventStream(answer.headers)) return answer
  // The SDKs take any 200 for a stream: a page in its place is theirs to read for ever.
  answer.body?.cancel().catch(() => {})
  return notOffered()
}

/** The SDK comes with fresh credentials for calls whose stream it was given back. */
async function handedOver(
  request: McpRequest,
  session: string | null,
  cursor: string,
  shared: Shared,
): Promise<Response> {
  const { handovers, settings } = shared
  const handed = handovers.at(session, cursor)
  if (handed === undefined || handed.requests.length === 0) {
    handovers.take(session, cursor)
    return notOffered()
  }
  // What fails is dialled again by the stream's own engine.
  const answer = await settings.openStream(request.url, request.init).catch(() => undefined)
  request.signal?.throwIfAborted()
  const isRefused = answer?.status === 401 || answer?.status === 403
  // The first refusal makes the SDK fetch credentials, if it can; without a provider it would wait for ever.
  if (isRefused && ++handed.refusals < 2) return answer as Response
  handovers.take(session, cursor)
  const { requests } = handed
  const headers = resumeHeaders(request, answer ?? new Response(), [])
  const calls = { requests, headers, lastEventId: cursor, mayHandOver: !isRefused }
  return new RequestStream(answer, request, calls, shared).response
}

/** What the SDKs take quietly for "no stream here". */
function notOffered(): Response {
  return new Response(null, { status: 405 })
}
