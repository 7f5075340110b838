// The polling demonstration on the SDK's version 2: the tool and the event store are those of docs/examples/mcp.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { MemoryEventStore } from '../../../docs/examples/mcp/event-store.ts'
import { DESCRIPTION, processBatch } from '../../../docs/examples/mcp/process-batch.ts'
import type { RunningServer } from '../../../docs/examples/mcp/server.ts'

/** For one session. */
export async function startV2Server(options: {
  retryIntervalMs: number
  pauseMs: number
}): Promise<RunningServer> {
  const server = new McpServer({ name: 'polling-demo', version: '1.0.0' }, { capabilities: { logging: {} } })
  const inputSchema = z.object({ items: z.number(), checkpoint_every: z.number() })
  server.registerTool('process_batch', { description: DESCRIPTION, inputSchema }, async (args, context) => {
    const text = await processBatch(args.items, args.checkpoint_every, {
      log: data =>
        context.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } }),
      closeStream: context.http?.closeSSE,
      pauseMs: options.pauseMs,
      signal: context.mcpReq.signal,
    })
    return { content: [{ type: 'text', text }] }
  })
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => 'the only session',
    retryInterval: options.retryIntervalMs,
    eventStore: new MemoryEventStore(),
  })
  await server.connect(transport)
  const http = createServer(getRequestListener(request => transport.handleRequest(request)))
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    closeStandaloneStreams: () => transport.closeStandaloneSSEStream(),
    announce: data => server.sendLoggingMessage({ level: 'info', data }),
    close: async () => {
      await transport.close()
      http.closeAllConnections()
      await new Promise(resolve => http.close(resolve))
    },
  }
}
