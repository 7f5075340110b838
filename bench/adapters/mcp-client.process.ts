// One tool call through an SDK of MCP: tells the CPU time from its first message to its result.
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mcpFetch } from 'resilient-sse/mcp'
import { dataOf } from './messages.ts'

interface Order {
  sdk: 'v1' | 'v2'
  resilient: boolean
  url: string
}

const { sdk, resilient, url } = JSON.parse(process.argv[2] as string) as Order
process.once('disconnect', () => process.exit())
const options = resilient ? { fetch: mcpFetch() } : {}
const info = { name: 'bench', version: '1' }
const client = sdk === 'v1' ? new ClientV1(info) : new ClientV2(info)
const transport =
  sdk === 'v1' ? new TransportV1(new URL(url), options) : new TransportV2(new URL(url), options)

let count = 0
let altered = 0
let startedAt: NodeJS.CpuUsage | undefined
client.fallbackNotificationHandler = async (notification: {
  params?: Record<string, unknown> | undefined
}) => {
  startedAt ??= process.cpuUsage()
  if (notification.params?.data !== dataOf(count++)) altered++
}
await client.connect(transport as never)
await client.callTool({ name: 'talk', arguments: {} })
const { user, system } = process.cpuUsage(startedAt)
process.send?.({ count, altered, cpuNs: (user + system) * 1_000 }, () => process.exit())
