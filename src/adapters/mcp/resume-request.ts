import type { Message } from './messages.ts'
import type { McpRequest } from './request.ts'

/** They describe a body, and a GET has none. */
const CONTENT = /^content-|^transfer-encoding$/

/**
 * The headers of the GET that goes on with a stream: those of the request that opened it, the session that its answer
 * named, and the protocol version. A primed `initialize` is resumed before the SDK knows either: without them a server
 * answers 400. The cursor is added for each leg.
 */
export function resumeHeaders(
  request: McpRequest,
  response: Response,
  messages: readonly Message[],
): Headers {
  const headers = new Headers([...request.headers].filter(([name]) => !CONTENT.test(name)))
  headers.delete('last-event-id')
  headers.set('accept', 'text/event-stream')
  const session = response.headers.get('mcp-session-id')
  if (session !== null) headers.set('mcp-session-id', session)
  const wished = messages.find(({ method }) => method === 'initialize')?.params?.protocolVersion
  if (!headers.has('mcp-protocol-version') && typeof wished === 'string')
    headers.set('mcp-protocol-version', wished)
  return headers
}
