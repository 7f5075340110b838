/** Why the server did not take a message, or did not begin to answer it. */
export type Undeliverable =
  /** It does not know the session any more: it refused the message, which was not carried out. */
  | 'session-lost'
  /** It could not be reached: the message was never sent. */
  | 'not-sent'
  /** The message was sent, and the connection broke before any answer: it may have been carried out. */
  | 'no-answer'

/** Thrown through an SDK's transport, which hands on what its fetch throws, to the one who sent the message. */
export class Undelivered extends Error {
  override name = 'Undelivered'
  readonly why: Undeliverable

  constructor(why: Undeliverable, cause?: unknown) {
    super(`The MCP message was not delivered: ${why}`, { cause })
    this.why = why
  }
}

/** What the failure of a POST's fetch says of its message. */
export function undelivered(error: unknown): Undelivered {
  return new Undelivered(wasNeverSent(error) ? 'not-sent' : 'no-answer', error)
}

/** `cause.code`s of name lookup and connect. */
const BEFORE_SENDING = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])
/** Others, such as ETIMEDOUT, come later, too: then the system call tells. */
const CONNECTING = new Set(['connect', 'getaddrinfo'])

/** Whether there never was a connection that the request could have left by. */
function wasNeverSent(error: unknown): boolean {
  for (let link = error, depth = 0; link instanceof Error && depth < 8; link = link.cause, depth++) {
    if ('code' in link && BEFORE_SENDING.has(String(link.code))) return true
    if ('syscall' in link && CONNECTING.has(String(link.syscall))) return true
    // Happy eyeballs: one error for each address.
    if (link instanceof AggregateError) return link.errors.length > 0 && link.errors.every(wasNeverSent)
  }
  return false
}
