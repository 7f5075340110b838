export { mcpFetch } from './fetch.ts'
export type { McpFetchOptions, McpStream } from './options.ts'
export type { LostCall, LostReason } from './settle.ts'
export { type McpTransportOptions, mcpTransport } from './transport.ts'
