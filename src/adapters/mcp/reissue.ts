import { isSigned } from './credentials.ts'
import { answersIn, type Message, type RequestId } from './messages.ts'
import type { McpSettings } from './options.ts'
import type { McpRequest } from './request.ts'

export const LISTEN = 'subscriptions/listen'
export const DISCOVER = 'server/discover'

/** Requests that read, whatever the server: to ask twice is to look twice. */
const READ_ONLY = new Set([
  DISCOVER,
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'tasks/get',
  LISTEN,
])

/**
 * Whether a request whose answer was lost may be sent again. A tool may have done its work: it is called again only
 * where the host says that its tools are declared `readOnlyHint` or `idempotentHint`.
 */
export function mayReissue(
  { headers }: McpRequest,
  message: Message,
  resendTool: McpSettings['resendTool'],
): boolean {
  // A server takes the second use of a signature for a replay.
  if (isSigned(headers)) return false
  if (message.method !== 'tools/call') return isRead(message)
  try {
    return resendTool?.(String(message.params?.name)) === true
  } catch {
    // Nobody has said that it may.
    return false
  }
}

/** Whether the server does nothing for it but look, or tell. */
export function isRead({ method }: Message): boolean {
  return method !== undefined && READ_ONLY.has(method)
}

/** The request under another id: the server must not take it for a repetition of a message that it has seen. */
export class Reissue {
  /** The id that the request has now. */
  id: RequestId
  readonly #text: string
  readonly #ownId: RequestId
  readonly #renamed: RenamedIds
  #count = 0

  constructor(text: string, id: RequestId, renamed: RenamedIds) {
    this.#text = text
    this.#ownId = id
    this.#renamed = renamed
    this.id = id
  }

  /** The request once more. Its progress token stays: it names the call to the client, and the first leg is gone. */
  next(): string {
    this.id = `${this.#ownId}~${++this.#count}`
    this.#renamed.set(this.#ownId, this.id)
    return JSON.stringify({ ...JSON.parse(this.#text), id: this.id })
  }

  /** What the server says, as if the first request had been answered. */
  mappedBack(message: Message): Message {
    if (message.method === undefined)
      return message.id === this.id ? { ...message, id: this.#ownId } : message
    return withRequestId(message, id => (id === this.id ? this.#ownId : id))
  }
}

/** More are kept only of requests that are long over. */
const MAX_RENAMED = 1_000

/** The ids that requests have on the server, where they were sent again: a cancellation has to name those. */
export class RenamedIds {
  readonly #ids = new Map<RequestId, RequestId>()

  set(own: RequestId, now: RequestId): void {
    this.#ids.delete(own)
    const oldest = this.#ids.keys().next()
    if (this.#ids.size >= MAX_RENAMED && !oldest.done) this.#ids.delete(oldest.value)
    this.#ids.set(own, now)
  }

  /** The text of a cancellation as the server understands it; `undefined` for any other message. */
  cancellation(messages: readonly Message[]): string | undefined {
    const [message] = messages
    const id = message?.params?.requestId as RequestId
    if (message === undefined || message.method !== CANCELLED || !this.#ids.has(id)) return undefined
    return JSON.stringify(withRequestId(message, own => this.#ids.get(own) ?? own))
  }
}

const CANCELLED = 'notifications/cancelled'

function withRequestId(message: Message, mapped: (id: RequestId) => RequestId): Message {
  if (message.method !== CANCELLED) return message
  return {
    ...message,
    params: { ...message.params, requestId: mapped(message.params?.requestId as RequestId) },
  }
}

/** Answers that ask to come again, whatever their body says. */
const COME_AGAIN = new Set([408, 425, 429, 502, 503, 504])

/**
 * An answer as a stream: a request that is sent again may be answered by plain JSON this time, an error of the protocol
 * included. What does not name the request is none: a gateway's own error, or one that could not be attributed.
 */
export async function asStream(answer: Response, id: RequestId): Promise<Response> {
  const { status, headers } = answer
  if (COME_AGAIN.has(status) || !/^application\/json\b/i.test(headers.get('content-type') ?? ''))
    return answer
  const text = await answer.text()
  if (!answersIn(text).includes(id)) return new Response(null, { status, headers })
  const asEvent = { 'content-type': 'text/event-stream' }
  return new Response(`data: ${JSON.stringify(JSON.parse(text))}\n\n`, { headers: asEvent })
}

/**
 * A redirect that the request may follow as it is: within its origin, which alone may see its credentials, and still a
 * POST. There is no GET in this revision.
 */
export function redirectedWithin(origin: string, answer: Response, url: URL): Response {
  const { status } = answer
  if (![301, 302, 303, 307, 308].includes(status)) return answer
  const location = answer.headers.get('location') ?? ''
  const isOwn = URL.canParse(location, url) && new URL(location, url).origin === origin
  if (isOwn && (status === 307 || status === 308)) return answer
  answer.body?.cancel().catch(() => {})
  return new Response(null, { status })
}
