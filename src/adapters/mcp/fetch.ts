import { isEventStream, isTakenOver } from './accept.ts'
import { CallRegister } from './cancelled.ts'
import { SessionCredentials } from './credentials.ts'
import { isWithoutResume } from './era.ts'
import { Handovers, notOffered } from './handover.ts'
import { type Message, messagesIn, requestsIn } from './messages.ts'
import { type McpFetchOptions, type McpSettings, resolveMcpOptions } from './options.ts'
import { postAnew, withoutResume } from './post-anew.ts'
import { acceptsStream, type McpRequest, readRequest } from './request.ts'
import { RequestStream, type Shared } from './request-stream.ts'
import { resumeHeaders } from './resume-request.ts'
import { isOfNetwork } from './stale.ts'
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
  const fetch = survivingFetch(resolveMcpOptions(options), () => {})
  made.add(fetch)
  return fetch
}

const made = new WeakSet<typeof globalThis.fetch>()

/** One on top of another would see streams without ids. */
export function isMcpFetch(fetch: typeof globalThis.fetch | undefined): boolean {
  return fetch !== undefined && made.has(fetch)
}

/** `onSessionLost`: a stream was answered 404 or 410 when it was to be resumed. */
export function survivingFetch(settings: McpSettings, onSessionLost: () => void): typeof globalThis.fetch {
  const shared: Shared = {
    settings,
    register: new CallRegister(),
    handovers: new Handovers(),
    credentials: new SessionCredentials(),
    onSessionLost,
  }
  const anew = withoutResume(settings)
  return async (input, init) => {
    const request = await readRequest(input, init)
    if (!acceptsStream(request.headers)) return settings.fetch(input, init)
    if (request.method === 'POST') {
      const messages = messagesIn(request.text)
      if (isWithoutResume(request, messages)) return postAnew(request, messages, anew)
      return post(request, messages, shared)
    }
    return request.method === 'GET' ? get(request, shared) : settings.fetch(request.url, request.init)
  }
}

/** Messages to the server; the answer to a request may be a stream. */
async function post(request: McpRequest, messages: readonly Message[], shared: Shared): Promise<Response> {
  const session = request.headers.get('mcp-session-id')
  shared.register.heed(session, messages)
  const letIn = shared.credentials.of(request.url, session).sent(request.headers)
  const answer = await shared.settings.fetch(request.url, request.init)
  if (answer.ok) letIn()
  const requests = requestsIn(messages)
  const [first] = requests
  if (!isTakenOver(request, answer) || first === undefined) return answer
  const headers = resumeHeaders(request, answer, messages)
  return new RequestStream(answer, request, { requests, headers }, shared).response
}

/** A stream that the SDK opens: the standalone one, or one that it resumes itself. */
async function get(request: McpRequest, shared: Shared): Promise<Response> {
  const session = request.headers.get('mcp-session-id')
  const cursor = request.headers.get('last-event-id') ?? ''
  const handedOver = shared.handovers.claim(session, cursor)
  if (handedOver !== undefined) return handedOver.comesBack(request)
  const letIn = shared.credentials.of(request.url, session).sent(request.headers)
  const answer = await openStream(request, cursor, shared)
  if (answer === undefined) return new StandaloneStream(undefined, request, shared).response
  if (answer.ok) letIn()
  if (isTakenOver(request, answer)) return new StandaloneStream(answer, request, shared).response
  if (answer.status !== 200 || isEventStream(answer.headers)) return answer
  // The SDKs take any 200 for a stream: a page in its place is theirs to read for ever.
  answer.body?.cancel().catch(() => {})
  return notOffered()
}

/** Answers of gateways while the server behind them is away. */
const AWAY = new Set([502, 503, 504])

/**
 * `undefined` when the server is away: the SDKs would tell their host of an error and never open the standalone stream
 * again, so it is opened as one that has just been lost.
 */
async function openStream(
  request: McpRequest,
  cursor: string,
  { settings }: Shared,
): Promise<Response | undefined> {
  try {
    const answer = await settings.openStream(request.url, request.init)
    if (cursor !== '' || !AWAY.has(answer.status)) return answer
    answer.body?.cancel().catch(() => {})
    return undefined
  } catch (error) {
    if (cursor !== '' || request.signal?.aborted || !isOfNetwork(error)) throw error
    return undefined
  }
}
