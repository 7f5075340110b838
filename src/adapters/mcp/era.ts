import type { Message } from './messages.ts'
import type { McpRequest } from './request.ts'

/** From this revision on there are no sessions and no Last-Event-ID: closing a stream cancels its call (SEP-2575). */
export const FIRST_WITHOUT_RESUME = '2026-07-28'
const VERSION_META_KEY = 'io.modelcontextprotocol/protocolVersion'
/** What each request of such a revision says of its client, instead of a session. */
export const ENVELOPE_META_KEYS: ReadonlySet<string> = new Set([
  VERSION_META_KEY,
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
])

/** Whether a message says of itself that it is of such a revision. */
export function isModern(messages: readonly Message[]): boolean {
  return (versionIn(messages) ?? '') >= FIRST_WITHOUT_RESUME
}

/** Whether a lost answer has to be asked for anew, because this revision of the protocol cannot resume it. */
export function isWithoutResume(request: McpRequest, messages: readonly Message[]): boolean {
  const version = versionIn(messages) ?? request.headers.get('mcp-protocol-version') ?? ''
  return version >= FIRST_WITHOUT_RESUME
}

/** The revision that a message says to be of. */
export function versionIn([first]: readonly Message[]): string | undefined {
  const version = (first?.params?._meta as Record<string, unknown> | undefined)?.[VERSION_META_KEY]
  return version === undefined ? undefined : String(version)
}
