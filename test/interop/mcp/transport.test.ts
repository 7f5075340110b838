import {
  Client as ClientV2,
  SSEClientTransport as LegacyV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport as LegacyV1 } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mcpTransport } from 'resilient-sse/mcp'
import { describe, expect, test } from 'vitest'
import { QUICK } from './clients.ts'
import { McpFaultServer } from './fault-server.ts'

// mcpTransport as a transport of either SDK, before anything has gone wrong.

const INFO = { name: 'test', version: '1' }

describe('v1:', () => {
  test('a client connects through it and calls a tool, with nothing to be cast', async () => {
    await using server = await McpFaultServer.start({ tools: { work: [out => out.result('done').end()] } })
    const transport = mcpTransport(TransportV1, server.url, undefined, QUICK)
    const client = new ClientV1(INFO)
    await client.connect(transport)
    expect((await client.callTool({ name: 'work' })).content).toEqual([{ type: 'text', text: 'done' }])
    expect(transport.sessionId).toBe('session-1')
    expect(transport.protocolVersion).toBe('2025-11-25')
    await transport.terminateSession()
    expect(server.of('DELETE')).toHaveLength(1)
    expect(transport.sessionId).toBeUndefined()
    await client.close()
  })
})

describe('v2:', () => {
  test('a client connects through it and calls a tool, with nothing to be cast', async () => {
    await using server = await McpFaultServer.start({ tools: { work: [out => out.result('done').end()] } })
    const transport = mcpTransport(TransportV2, server.url, undefined, QUICK)
    const client = new ClientV2(INFO)
    await client.connect(transport)
    expect((await client.callTool({ name: 'work' })).content).toEqual([{ type: 'text', text: 'done' }])
    expect(transport.sessionId).toBe('session-1')
    expect(transport.hasPerRequestStream).toBe(true)
    await client.close()
  })
})

test('the transports of 2024-11-05 are taken, too', () => {
  const url = new URL('http://server.test/sse')
  expect(mcpTransport(LegacyV1, url).finishAuth).toBeTypeOf('function')
  expect(mcpTransport(LegacyV2, url).finishAuth).toBeTypeOf('function')
})
