import type { Message } from './messages.ts'
import type { McpRequest } from './request.ts'

/** From this revision on there are no sessions and no Last-Event-ID: closing a stream cancels its call (SEP-2575). */
const FIRST_WITHOUT_RESUME = '2026-07-28'
const VERSION_META_KEY = 'io.modelcontextprotocol/protocolVersion'

/** Whether a lost answer has to be asked for anew, because this revision of the protocol cannot resume it. */
export function isWithoutResume(request: McpRequest, messages: readonly Message[]): boolean {
  const meta = messages[0]?.params?._meta as Record<string, unknown> | undefined
  const version = meta?.[VERSION_META_KEY] ?? request.headers.get('mcp-protocol-version') ?? ''
  return String(version) >= FIRST_WITHOUT_RESUME
}
