import {
  Client as ClientV2,
  SSEClientTransport as LegacyV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport as LegacyV1 } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { LifecycleEvent } from 'resilient-sse'
import {
  type McpSessionEvent,
  type McpStream,
  type McpTransportOptions,
  mcpTransport,
} from 'resilient-sse/mcp'
import { onTestFinished } from 'vitest'
import type { CallOptions, Line } from './clients.ts'
import { QUICK } from './clients.ts'

const INFO = { name: 'test', version: '1' }

export interface HostOptions {
  /** The SDK's transport alone. */
  bare?: boolean
  /** HTTP+SSE of 2024-11-05. */
  legacy?: boolean
  /** Options of the SDK's transport. */
  options?: object
  resilience?: McpTransportOptions
  /** Answers the server's elicitations. */
  elicit?: (signal: AbortSignal) => Promise<void>
}

/** A host of either line, over the transport under test, and all that it was told. */
export interface HostClient {
  call(number: number | string, args?: object, options?: CallOptions): Promise<string>
  request(method: string, params?: object): Promise<unknown>
  readonly sessions: McpSessionEvent[]
  readonly lifecycle: { event: LifecycleEvent; stream: McpStream }[]
  readonly errors: Error[]
  /** The methods of the notifications that came. */
  readonly told: string[]
  readonly transport: { sessionId?: string | undefined; send(message: never): Promise<void> }
  close(): Promise<void>
}

const CLASSES = {
  v1: { streamable: TransportV1, legacy: LegacyV1 },
  v2: { streamable: TransportV2, legacy: LegacyV2 },
}

export async function connectHost(line: Line, url: URL, how: HostOptions = {}): Promise<HostClient> {
  const sessions: McpSessionEvent[] = []
  const lifecycle: HostClient['lifecycle'] = []
  const errors: Error[] = []
  const told: string[] = []
  const TransportClass = CLASSES[line][how.legacy ? 'legacy' : 'streamable'] as typeof TransportV2
  const transport = how.bare
    ? new TransportClass(url, how.options)
    : mcpTransport(TransportClass, url, how.options, {
        ...QUICK,
        onSession: event => sessions.push(event),
        onLifecycle: (event, stream) => lifecycle.push({ event, stream }),
        ...how.resilience,
      })
  const client = newClient(line, how)
  client.onerror = error => void errors.push(error)
  client.fallbackNotificationHandler = async ({ method }) => void told.push(method)
  await client.connect(transport as never)
  onTestFinished(() => client.close())
  return {
    sessions,
    lifecycle,
    errors,
    told,
    transport,
    call: async (number, args = {}, options = {}) => {
      const params = { name: 'work', arguments: { number, ...args } }
      const result = await (line === 'v1'
        ? client.callTool(params, undefined, options)
        : (client as unknown as ClientV2).callTool(params, options))
      return (result.content as { text: string }[])[0]?.text ?? ''
    },
    request: async (method, params = {}) => {
      if (method === 'tools/list') return client.listTools()
      if (method === 'logging/setLevel') return client.setLoggingLevel((params as { level: 'info' }).level)
      if (method === 'resources/subscribe') return client.subscribeResource(params as { uri: string })
      if (method === 'resources/unsubscribe') return client.unsubscribeResource(params as { uri: string })
      return client.ping()
    },
    close: () => client.close(),
  }
}

/** The two lines' clients differ in types more than in what is called here. */
function newClient(line: Line, { elicit }: HostOptions): ClientV1 {
  const capabilities = elicit ? { elicitation: {} } : {}
  const answer = async (signal: AbortSignal) => {
    await elicit?.(signal)
    return { action: 'accept' as const, content: {} }
  }
  if (line === 'v1') {
    const client = new ClientV1(INFO, { capabilities })
    if (elicit) client.setRequestHandler(ElicitRequestSchema, (_, { signal }) => answer(signal))
    return client
  }
  const client = new ClientV2(INFO, { capabilities })
  if (elicit) client.setRequestHandler('elicitation/create', (_, { mcpReq }) => answer(mcpReq.signal))
  return client as unknown as ClientV1
}
