// The MCP server behind the HTTP server, by the SDK's high-level API or, with --low-level, by the one below it.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { type Call, DESCRIPTION, INPUT, processBatch } from './process-batch.ts'

const INFO = { name: 'polling-demo', version: '1.0.0' }
const CAPABILITIES = { capabilities: { logging: {}, tools: {} } }
const { items, checkpoint_every: checkpoint } = INPUT

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

function callOf(extra: Extra, pauseMs: number): Call {
  const { closeSSEStream: closeStream, signal } = extra
  const log = (data: string) =>
    extra.sendNotification({
      method: 'notifications/message',
      params: { level: 'info', logger: 'process_batch', data },
    })
  return { log, closeStream, pauseMs, signal }
}

async function answer(count: number, every: number, extra: Extra, pauseMs: number) {
  const text = await processBatch(count, every, callOf(extra, pauseMs))
  return { content: [{ type: 'text' as const, text }] }
}

export function highLevel(pauseMs: number): McpServer {
  const server = new McpServer(INFO, CAPABILITIES)
  const integer = ({ minimum, maximum, default: value, description }: (typeof INPUT)[keyof typeof INPUT]) =>
    z.number().int().min(minimum).max(maximum).default(value).describe(description)
  const inputSchema = { items: integer(items), checkpoint_every: integer(checkpoint) }
  server.registerTool('process_batch', { description: DESCRIPTION, inputSchema }, (args, extra) =>
    answer(args.items, args.checkpoint_every, extra, pauseMs),
  )
  return server
}

export function lowLevel(pauseMs: number): Server {
  const server = new Server(INFO, CAPABILITIES)
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      {
        name: 'process_batch',
        description: DESCRIPTION,
        inputSchema: { type: 'object' as const, properties: { ...INPUT } },
      },
    ],
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    if (params.name !== 'process_batch') throw new McpError(ErrorCode.InvalidParams, `No tool ${params.name}`)
    const { items: count = items.default, checkpoint_every: every = checkpoint.default } =
      params.arguments ?? {}
    for (const [name, value] of Object.entries({ items: count, checkpoint_every: every }))
      if (!Number.isInteger(value) || Number(value) < 1 || Number(value) > items.maximum)
        throw new McpError(ErrorCode.InvalidParams, `${name}: not a whole number from 1 to ${items.maximum}`)
    return answer(Number(count), Number(every), extra, pauseMs)
  })
  return server
}
