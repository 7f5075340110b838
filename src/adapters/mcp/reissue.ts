import { type Message, messagesIn, type RequestId } from './messages.ts'
import type { McpSettings } from './options.ts'

/** Requests that read, whatever the server: to ask twice is to look twice. */
const READ_ONLY = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'tasks/get',
])

/**
 * Whether a request whose answer was lost may be sent again. A tool may have done its work: it is called again only
 * where the host says that its tools are declared `readOnlyHint` or `idempotentHint`.
 */
export function mayReissue({ method, params }: Message, resendTool: McpSettings['resendTool']): boolean {
  if (method === 'tools/call') return resendTool?.(String(params?.name)) === true
  return method !== undefined && READ_ONLY.has(method)
}

/** The request under another id: the server must not take it for a repetition of a message that it has seen. */
export class Reissue {
  /** The id that the request has now. */
  id: RequestId
  readonly #text: string
  readonly #ownId: RequestId
  #count = 0

  constructor(text: string, id: RequestId) {
    this.#text = text
    this.#ownId = id
    this.id = id
  }

  /** The request once more. */
  next(): string {
    this.id = `${this.#ownId}~${++this.#count}`
    return JSON.stringify({ ...JSON.parse(this.#text), id: this.id })
  }

  /** What the server says, as if the first request had been answered. */
  mappedBack(message: Message): Message {
    return message.method === undefined && message.id === this.id ? { ...message, id: this.#ownId } : message
  }
}

/**
 * An answer as a stream: a request that is sent again may be answered by plain JSON this time, an error of the protocol
 * included.
 */
export async function asStream(answer: Response): Promise<Response> {
  if (!/^application\/json\b/i.test(answer.headers.get('content-type') ?? '')) return answer
  const text = await answer.text()
  const isMessage = messagesIn(text).some(({ result, error }) => result !== undefined || error !== undefined)
  if (!isMessage) return new Response(null, { status: answer.status, headers: answer.headers })
  const headers = { 'content-type': 'text/event-stream' }
  return new Response(`data: ${JSON.stringify(JSON.parse(text))}\n\n`, { headers })
}
