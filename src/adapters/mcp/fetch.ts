import { isTakenOver } from './accept.ts'
import { CallRegister } from './cancelled.ts'
import { messagesIn } from './messages.ts'
import { type McpFetchOptions, resolveMcpOptions } from './options.ts'
import { acceptsStream, readRequest } from './request.ts'
import { RequestStream } from './request-stream.ts'

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
  const register = new CallRegister()
  return async (input, init) => {
    const request = await readRequest(input, init)
    if (!acceptsStream(request.headers)) return settings.fetch(input, init)
    const messages = request.method === 'POST' ? messagesIn(request.text) : []
    register.heed(request.headers.get('mcp-session-id'), messages)
    const response = await settings.fetch(request.url, request.init)
    if (!isTakenOver(request, response) || request.method !== 'POST') return response
    return new RequestStream(response, request, messages, settings, register).response
  }
}
