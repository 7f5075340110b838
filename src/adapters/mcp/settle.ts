import { SseError } from '../../index.ts'
import { messageBlock } from './frames.ts'
import type { Message, RequestId } from './messages.ts'

/** Why a call was given up. */
export type LostReason =
  /** The connection broke, and the server had sent no event id that it could be resumed after. */
  | 'no-cursor'
  /** The server does not resume (400, 405), or its answer makes asking again pointless. */
  | 'not-resumable'
  /** The protocol revision has no resume, and the request may have been carried out, so it was not sent again; nor is one that is signed. */
  | 'not-resent'
  /** The server no longer knows the session (404, 410). */
  | 'session-lost'
  /** The server wants other credentials (401, 403). */
  | 'unauthorized'
  /** A subscription that was entered again would tell less than the server had agreed to. */
  | 'narrowed'
  /** Too many attempts in a row brought no event. */
  | 'exhausted'
  /** The server ended the stream for good (204), with no answer in it. */
  | 'ended'
  /** `mcpTransport`: the connection broke before the server had begun to answer. */
  | 'no-answer'
  /** `mcpTransport`: the server could not be reached, again and again. */
  | 'unreachable'

/** What is known of a call that was given up: the `data` of its error. */
export interface LostCall {
  /**
   * `'unknown'`: the request had been sent; it may have run, be running, or never run. `'no'` (`mcpTransport`): it was
   * never sent, or was refused together with its session; it has not run, and may be sent again.
   */
  sent: 'unknown' | 'no'
  reason: LostReason
  /** The last event id of its stream, if there was one. */
  lastEventId: string | null
  /** How often it was asked to go on. */
  attempts: number
  /** The code of what ended it (`ERR_SSE_*`), and the HTTP status where there was one. */
  code?: string
  status?: number
}

/** The SDKs' code for a connection that was closed. */
export const CONNECTION_CLOSED = -32_000

/** Says in words what {@link LostCall} says to a program. */
const WORDS: Record<LostReason, string> = {
  'no-cursor': 'the stream broke before the server had sent an event id, so it cannot be resumed',
  'not-resumable': 'the server does not resume the stream',
  'not-resent': 'the stream broke, and a request that may have run is not sent again',
  'session-lost': 'the server has lost the session',
  unauthorized: 'the server wants other credentials',
  narrowed: 'the server no longer tells all that it had agreed to tell',
  exhausted: 'the stream broke again and again',
  ended: 'the server ended the stream without an answer',
  'no-answer': 'the connection broke before the server had begun to answer',
  unreachable: 'the server could not be reached',
}

/** What is known of calls that are given up. */
export interface Known {
  reason: LostReason
  lastEventId?: string | undefined
  attempts: number
  error: unknown
}

/** An error for each call that is still open, so that none of them hangs. */
export function settle(open: Iterable<RequestId>, known: Known): string {
  return lostAnswers(open, known).map(messageBlock).join('')
}

/** The same as messages. `sent`: whether the calls may have run. */
export function lostAnswers(
  open: Iterable<RequestId>,
  { reason, lastEventId, attempts, error }: Known,
  sent: LostCall['sent'] = 'unknown',
): Message[] {
  const data: LostCall = { sent, reason, lastEventId: lastEventId ?? null, attempts }
  if (error instanceof SseError) data.code = error.code
  if (error instanceof SseError && 'status' in error) data.status = error.status as number
  const message =
    sent === 'no'
      ? `The request was not carried out: ${WORDS[reason]}`
      : `The answer was lost: ${WORDS[reason]}; whether the request was carried out is unknown`
  return [...open].map(id => ({ jsonrpc: '2.0', id, error: { code: CONNECTION_CLOSED, message, data } }))
}
