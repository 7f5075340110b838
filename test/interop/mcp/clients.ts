import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { type McpFetchOptions, mcpFetch } from 'resilient-sse/mcp'

export type Line = 'v1' | 'v2'

export interface CallOptions {
  timeout?: number
  signal?: AbortSignal
  arguments?: object
  resumptionToken?: string
  onresumptiontoken?: (token: string) => void
  onprogress?: (progress: { progress: number }) => void
}

/** What the tests need of a client, of whichever line. */
export interface TestClient extends AsyncDisposable {
  call(tool: string, options?: CallOptions): Promise<string>
  ping(): Promise<unknown>
  /** The data of the log notifications, in order. */
  readonly logs: unknown[]
  /** What `onerror` was told. */
  readonly errors: Error[]
  /** With the code that the authorization server has sent the user back with. */
  finishAuth(code: string): Promise<void>
  close(): Promise<void>
}

export interface ConnectOptions {
  /** `undefined`: the SDK alone. */
  fetch?: typeof globalThis.fetch
  /** The token of the moment. */
  token?: () => string
  /** v2 only: fetches another token. */
  onUnauthorized?: () => void
  /** An `OAuthClientProvider`, in place of `token`. */
  authProvider?: object
  requestInit?: RequestInit
}

const INFO = { name: 'test', version: '1' }

export async function connect(
  line: Line,
  url: URL,
  { fetch, token, onUnauthorized, ...given }: ConnectOptions = {},
): Promise<TestClient> {
  const logs: unknown[] = []
  const errors: Error[] = []
  const ownProvider = token && {
    tokens: () => ({ access_token: token(), token_type: 'bearer' }),
    token: async () => token(),
    ...(onUnauthorized && { onUnauthorized: async () => onUnauthorized() }),
  }
  const options = {
    ...(fetch && { fetch }),
    ...(ownProvider && { authProvider: ownProvider }),
    ...given,
  } as never
  const heard = (notification: { method: string; params?: Record<string, unknown> | undefined }) => {
    if (notification.method === 'notifications/message') logs.push(notification.params?.data)
  }
  const onerror = (error: Error) => void errors.push(error)
  const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''
  if (line === 'v1') {
    const client = new ClientV1(INFO)
    client.fallbackNotificationHandler = async notification => heard(notification)
    client.onerror = onerror
    const transport = new TransportV1(url, options)
    await client.connect(transport as never)
    return {
      logs,
      errors,
      call: async (name, { arguments: args = {}, ...rest } = {}) =>
        textOf(await client.callTool({ name, arguments: args as never }, CallToolResultSchema, rest)),
      ping: () => client.ping(),
      finishAuth: code => transport.finishAuth(code),
      close: () => client.close(),
      [Symbol.asyncDispose]: () => client.close(),
    }
  }
  const client = new ClientV2(INFO)
  client.fallbackNotificationHandler = async notification => heard(notification as never)
  client.onerror = onerror
  const transport = new TransportV2(url, options)
  await client.connect(transport)
  return {
    logs,
    errors,
    call: async (name, { arguments: args = {}, ...rest } = {}) =>
      textOf(await client.callTool({ name, arguments: args as never }, rest)),
    ping: () => client.ping(),
    finishAuth: code => transport.finishAuth(code),
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** Quick waits: the waits themselves have tests of their own. */
export const QUICK: McpFetchOptions = {
  backoff: { baseMs: 20, maxMs: 100 },
  tcp: { connectTimeoutMs: 2_000 },
}

export function wrapped(options: McpFetchOptions = {}): ConnectOptions {
  return { fetch: mcpFetch({ ...QUICK, ...options }) }
}

export { setTimeout as sleep } from 'node:timers/promises'

export async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition(); waited += 10) {
    if (waited > 10_000) throw new Error('Not within 10 s')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
