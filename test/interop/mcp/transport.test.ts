import {
  Client as ClientV2,
  SSEClientTransport as LegacyV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport as LegacyV1 } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mcpFetch, mcpTransport } from 'resilient-sse/mcp'
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

describe('what cannot take effect is refused when the transport is made:', () => {
  const url = 'http://server.test/mcp'
  const made = (...[given, resilience, at = url]: [object?, object?, string?]) =>
    mcpTransport(TransportV2, at, given, resilience)

  test.each<[string, () => unknown, string]>([
    ['no class', () => mcpTransport('http' as never, url), 'TransportClass'],
    ['an address that is none', () => made({}, {}, '/mcp'), 'url'],
    ['credentials in the address', () => made({}, {}, 'http://me:secret@server.test/mcp'), 'url'],
    ['a misspelt option', () => made({}, { onSesion() {} }), 'onSesion'],
    ['onSession that is no function', () => made({}, { onSession: 1 }), 'onSession'],
    ['fetch in the wrong place', () => made({}, { fetch }), 'fetch'],
    ['mcpFetch below it', () => made({ fetch: mcpFetch() }), 'fetch'],
    ['tcp beside a fetch', () => made({ fetch }, { tcp: {} }), 'tcp'],
    ['an option of a layer', () => made({}, { backoff: { maxAttempts: 0 } }), 'maxAttempts'],
  ])('%s', (_, make, name) => {
    expect(make).toThrow(
      expect.objectContaining({ code: 'ERR_SSE_OPTION', message: expect.stringContaining(name) }),
    )
  })
})

test('a fetch of the host is asked for each request', async () => {
  await using server = await McpFaultServer.start({})
  const asked: string[] = []
  const own: typeof fetch = (input, init) => {
    asked.push(init?.method ?? 'GET')
    return fetch(input, init)
  }
  const client = new ClientV2(INFO)
  await client.connect(mcpTransport(TransportV2, server.url, { fetch: own }))
  await client.close()
  expect(asked.slice(0, 2)).toEqual(['POST', 'POST'])
})
