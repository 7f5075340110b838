import { isTakenOver } from '../accept.ts'
import { survivingFetch } from '../fetch.ts'
import { messagesIn } from '../messages.ts'
import type { McpSettings } from '../options.ts'
import { acceptsStream, type McpRequest, readRequest } from '../request.ts'
import { LegacyStream } from './legacy-stream.ts'
import { Undelivered, undelivered } from './undelivered.ts'

/** What the fetch of a session knows of it, and tells it. */
export interface SessionOfFetch {
  /** HTTP+SSE of 2024-11-05: the session is a stream. */
  readonly isLegacy: boolean
  /** Nothing of it is left on the server. */
  readonly isLost: boolean
  /** Whether another one could take its place. */
  readonly isReplaceable: boolean
  /** The host ends it (DELETE), or could not. */
  isTerminated: boolean
  /** The last answer that was no success, and the last failure of the network. */
  refusal: Response | Error | undefined
  /** `isDeaf`: the stream that all answers come by is gone. */
  lost(status?: number, isDeaf?: boolean): void
}

/** A fetch for the transport of one session: the one of `mcpFetch`, which also tells what becomes of the session. */
export function sessionFetch(settings: McpSettings, session: SessionOfFetch): typeof globalThis.fetch {
  const surviving = survivingFetch(settings, () => session.lost())
  return async (input, init) => {
    const request = await readRequest(input, init)
    const isInSession = session.isLegacy || request.headers.has('mcp-session-id')
    if (request.method === 'POST' && isJsonRpc(request)) {
      if (session.isLost) throw new Undelivered('session-lost')
      return post(request, isInSession, session, surviving)
    }
    if (!isInSession) return surviving(input, init)
    if (request.method === 'DELETE') return terminate(request, session, settings)
    if (request.method !== 'GET' || !acceptsStream(request.headers)) return surviving(input, init)
    if (session.isLost) return noStream(session)
    return session.isLegacy ? legacyStream(request, session, settings) : stream(request, session, surviving)
  }
}

async function post(
  request: McpRequest,
  isInSession: boolean,
  session: SessionOfFetch,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  let answer: Response
  try {
    answer = await fetch(request.url, request.init)
  } catch (error) {
    session.refusal = error as Error
    throw request.signal?.aborted ? error : undelivered(error)
  }
  session.refusal = answer.ok ? undefined : answer
  if (!isInSession || !session.isReplaceable || !(await meansLost(answer))) return answer
  answer.body?.cancel().catch(() => {})
  session.lost(answer.status)
  throw new Undelivered('session-lost')
}

async function stream(
  request: McpRequest,
  session: SessionOfFetch,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  const answer = await fetch(request.url, request.init)
  if (!session.isReplaceable || (answer.status !== 404 && answer.status !== 410)) return answer
  answer.body?.cancel().catch(() => {})
  session.lost(answer.status)
  return noStream(session)
}

/** 2024-11-05: a stream that ends takes its session with it, so it is never opened again under the host's feet. */
async function legacyStream(
  request: McpRequest,
  session: SessionOfFetch,
  settings: McpSettings,
): Promise<Response> {
  try {
    const answer = await settings.openStream(request.url, request.init)
    session.refusal = answer.ok ? undefined : answer
    if (!isTakenOver(request, answer)) return answer
    return new LegacyStream(answer, request, settings, () => session.lost(undefined, true)).response
  } catch (error) {
    session.refusal = error as Error
    throw error
  }
}

async function terminate(
  request: McpRequest,
  session: SessionOfFetch,
  settings: McpSettings,
): Promise<Response> {
  // The server ends its streams before it answers.
  session.isTerminated = true
  const answer = await settings.fetch(request.url, request.init)
  session.isTerminated = answer.ok || answer.status === 404
  return answer
}

/** What the SDK's transport of a session that is gone is told when it looks for a stream: there is none, and no error. */
function noStream({ isLegacy }: SessionOfFetch): Response {
  return new Response(null, { status: isLegacy ? 204 : 405 })
}

/** Requests of OAuth come the same way. */
function isJsonRpc({ text }: McpRequest): boolean {
  const messages = messagesIn(text)
  return messages.length > 0 && messages.every(({ jsonrpc }) => jsonrpc === '2.0')
}

/** What servers say that follow older examples of the SDKs, and those whose only transport is a new one. */
const FORGOTTEN = /no valid session id|session not found|server not initialized|no transport found/i

/**
 * [spec] 404: "the client MUST start a new session". Many servers say 400 instead, in a JSON-RPC error that belongs to no
 * request.
 */
async function meansLost(answer: Response): Promise<boolean> {
  if (answer.status === 404 || answer.status === 410) return true
  if (answer.status !== 400) return false
  const text = await answer
    .clone()
    .text()
    .catch(() => '')
  const [message] = messagesIn(text)
  return (message === undefined || message.id === undefined || message.id === null) && FORGOTTEN.test(text)
}
