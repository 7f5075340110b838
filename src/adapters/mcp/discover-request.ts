import { isEventStream } from './accept.ts'
import { ENVELOPE_META_KEYS } from './era.ts'
import { type Message, messagesIn, type RequestId } from './messages.ts'
import { DISCOVER } from './reissue.ts'
import type { McpRequest } from './request.ts'

/** Headers that speak of a call's own method, name or arguments. */
const OF_THE_CALL = /^(mcp-(method|name|param-.*)|content-length)$/

/** The question what the server is, asked with the credentials and in the name of a client's call. */
export function discoverAnew(
  { url, init, headers: given }: McpRequest,
  { params }: Message,
  id: RequestId,
  timeoutMs: number,
): McpRequest {
  const headers = new Headers([...given].filter(([name]) => !OF_THE_CALL.test(name)))
  headers.set('mcp-method', DISCOVER)
  const meta = Object.entries((params?._meta ?? {}) as object).filter(([key]) => ENVELOPE_META_KEYS.has(key))
  const _meta = Object.fromEntries(meta)
  const text = JSON.stringify({ jsonrpc: '2.0', id, method: DISCOVER, params: { _meta } })
  // Not the caller's signal: others may wait for the same.
  const signal = AbortSignal.timeout(timeoutMs)
  const sent = { ...init, headers: Object.fromEntries(headers), body: text, signal }
  return { url, method: 'POST', headers, text, signal, init: sent }
}

/** What an answer, JSON or a stream, says to the request of this id. */
export async function answerIn(answer: Response, id: RequestId): Promise<Message | undefined> {
  const text = await answer.text()
  const texts = isEventStream(answer.headers) ? dataIn(text) : [text]
  return texts.flatMap(messagesIn).find(message => message.id === id && message.method === undefined)
}

/** The events of a stream of our own making: each is one line. */
function dataIn(stream: string): string[] {
  return stream.split('\n').flatMap(line => (line.startsWith('data: ') ? line.slice(6) : []))
}
