// The revision 2026-07-28 has no sessions to lose. A client that has kept the server's DiscoverResult enters with it: the
// first request that the server sees is the first call.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { type DiscoverStore, mcpFetch } from 'resilient-sse/mcp'
import { z } from 'zod'

/** A server of that revision, and the JSON-RPC methods that it was asked for. */
export async function startServer2026(): Promise<{
  url: URL
  asked: string[]
  close: () => Promise<unknown>
}> {
  const asked: string[] = []
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'reconnect-demo', version: '1.0.0' })
      const inputSchema = z.object({ a: z.number(), b: z.number() })
      server.registerTool('add', { description: 'Adds', inputSchema }, async ({ a, b }) => ({
        content: [{ type: 'text', text: String(a + b) }],
      }))
      return server
    },
    { legacy: 'reject' },
  )
  const http = createServer(
    getRequestListener(request => {
      asked.push(request.headers.get('mcp-method') ?? request.method)
      return handler.fetch(request)
    }),
  )
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  return {
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`),
    asked,
    close: () => {
      http.closeAllConnections()
      return new Promise(resolve => http.close(resolve))
    },
  }
}

/** Connects: with what `discoverStore` knows of the server, or by asking it, and then that is kept. */
export async function connect2026(url: URL, discoverStore: DiscoverStore): Promise<Client> {
  const client = new Client(
    { name: 'reconnect-client', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: mcpFetch({ discoverStore }) }))
  return client
}
