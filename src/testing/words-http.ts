import type { HeaderFields } from './http.js'
import type { BetweenStep, EndStep, Step } from './steps.js'
import { end, event, reset, retry, send } from './words.js'

// — Instead of a stream ——————————————————————————————————————————————————————————————————————————————————————————————

/** Reads the request and never answers. */
export const noHeaders = (): EndStep => ({ do: 'noHeaders' })

/** Sends the headers of a stream, then nothing for ever. */
export const headersOnly = (): EndStep => ({ do: 'headersOnly' })

/** Answers with something that is not HTTP and closes. */
export const garbage = (): EndStep => ({ do: 'garbage' })

/** What {@link answer} can say besides its status. */
export interface AnswerOptions {
  /** Header fields; they win over the server's own, and `null` removes one. */
  headers?: HeaderFields
  /** The body, sent in UTF-8 with its Content-Length. Default empty. */
  body?: string
  /** The reason phrase. Default the usual one of the status. */
  reason?: string
}

/**
 * Answers with a status and a complete body: an error page, a 204, a 503 with `Retry-After` as seconds or as a date.
 * The content type is text/plain, or text/html for a body that starts with `<`, unless `headers` say otherwise.
 */
export const answer = (status: number, { headers, body, reason }: AnswerOptions = {}): EndStep => ({
  do: 'answer',
  status,
  ...(headers === undefined ? {} : { headers }),
  ...(body === undefined ? {} : { body }),
  ...(reason === undefined ? {} : { reason }),
})

/**
 * Redirects to a path, an absolute URL, `'@self'` (the URL of the request: a loop), or, without a location, nowhere:
 * an answer whose Location is missing. Default status 302.
 */
export const redirect = (location?: string, status = 302): EndStep => ({
  do: 'redirect',
  ...(location === undefined ? {} : { location }),
  status,
})

// — Between two connections ——————————————————————————————————————————————————————————————————————————————————————————

/**
 * After this connection the port refuses connections for `ms` milliseconds, or until `server.accept()`. It is closed
 * before the client can see the end, so that even an instant redial is refused.
 */
export const refuse = (ms?: number): BetweenStep => ({ do: 'refuse', ...(ms === undefined ? {} : { ms }) })

/**
 * After this connection the server has restarted without its memory: the events before this connection's position are
 * forgotten, and the ids of those after it are numbered 1, 2, 3 … on every connection.
 */
export const restart = (): BetweenStep => ({ do: 'restart' })

/** After this connection the first `count` events of the log are evicted from the replay buffer. */
export const forget = (count: number): BetweenStep => ({ do: 'forget', count })

// — Flapping —————————————————————————————————————————————————————————————————————————————————————————————————————————

/**
 * The script of one connection of a server that comes and goes; use it as `otherwise` for a storm without end.
 *
 * - `'event'`: one event of the log, then a clean end.
 * - `'greeting'`: a greeting without an id, then RST. It looks like success and brings nothing.
 * - `'error'`: `retry: 0` and an `error` event without an id, then a clean end.
 */
export function flapping(kind: 'event' | 'greeting' | 'error'): Step[] {
  switch (kind) {
    case 'event':
      return [send(1), end()]
    case 'greeting':
      return [event({ data: 'welcome', event: 'greeting' }), reset()]
    case 'error':
      return [retry('0'), event({ data: 'internal error', event: 'error' }), end()]
  }
}
