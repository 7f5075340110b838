import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type McpFetchOptions, mcpFetch } from 'resilient-sse/mcp'
import { afterEach, describe, expect, test } from 'vitest'
import { QUICK, sleep, until } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'

// The revision 2026-07-28: no sessions, no GET, no Last-Event-ID; closing a stream cancels its call. Only v2 speaks it.

const VERSION = '2026-07-28'
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

const discover: Leg = out =>
  out
    .message({
      id: out.id,
      result: {
        resultType: 'complete',
        supportedVersions: [VERSION],
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'faulty', version: '1' },
        ttlMs: 0,
        cacheScope: 'private',
      },
    })
    .end()

const tools: Leg = out =>
  out
    .message({
      id: out.id,
      result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' },
    })
    .end()

const done: Leg = out =>
  out
    .message({ id: out.id, result: { resultType: 'complete', content: [{ type: 'text', text: 'done' }] } })
    .end()

async function start(script: McpScript, how: 'bare' | McpFetchOptions = {}) {
  const server = await McpFaultServer.start({
    ...script,
    methods: { 'server/discover': [discover], ...script.methods },
  })
  open.push(server)
  const errors: Error[] = []
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: VERSION } } },
  )
  client.onerror = error => void errors.push(error)
  const options = how === 'bare' ? {} : { fetch: mcpFetch({ ...QUICK, ...how }) }
  await client.connect(new StreamableHTTPClientTransport(server.url, options))
  open.push({ [Symbol.asyncDispose]: () => client.close() })
  return { server, client, errors }
}

const ids = (server: McpFaultServer, method: string) => server.of(method).map(({ id }) => id)

describe('a read', () => {
  test('whose answer is lost is asked for again under a new id, where the SDK alone is left to hang', async () => {
    const script: McpScript = { methods: { 'tools/list': [out => out.comment().reset(), tools] } }
    const bare = await start(script, 'bare')
    await expect(bare.client.listTools(undefined, { timeout: 1_000 })).rejects.toThrow()
    expect(bare.server.of('tools/list')).toHaveLength(1)
    const { server, client, errors } = await start(script)
    expect((await client.listTools()).tools).toEqual([])
    const [first, second, ...others] = ids(server, 'tools/list')
    expect(others).toEqual([])
    expect(second).toBe(`${first}~1`)
    expect(errors).toEqual([])
    expect(server.of('GET')).toEqual([])
  })

  test('may be answered by plain JSON the second time', async () => {
    const json: Leg = out =>
      out.answer(
        200,
        JSON.stringify({
          jsonrpc: '2.0',
          id: out.id,
          result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' },
        }),
        { 'content-type': 'application/json' },
      )
    const { server, client } = await start({
      methods: { 'tools/list': [out => out.comment().reset(), json] },
    })
    expect((await client.listTools()).tools).toEqual([])
    expect(server.of('tools/list')).toHaveLength(2)
  })

  test('that is lost again and again is settled', async () => {
    const { server, client } = await start(
      { methods: { 'tools/list': [out => out.comment().reset()] } },
      { backoff: { baseMs: 10, maxMs: 20, maxAttempts: 3 } },
    )
    await expect(client.listTools()).rejects.toMatchObject({
      code: -32_000,
      data: { sent: 'unknown', reason: 'exhausted', attempts: 3 },
    })
    expect(server.of('tools/list')).toHaveLength(4)
  })
})

describe('a tool call', () => {
  const lost: McpScript = { tools: { work: [out => out.comment().reset(), done] } }

  test('whose answer is lost is settled at once and not sent again', async () => {
    const { server, client } = await start(lost)
    await expect(client.callTool({ name: 'work', arguments: {} })).rejects.toMatchObject({
      code: -32_000,
      data: { sent: 'unknown', reason: 'not-resent', attempts: 0 },
    })
    await sleep(300)
    expect(server.of('tools/call')).toHaveLength(1)
    expect(server.of('GET')).toEqual([])
  })

  test('is sent again where the host says that the tool may be', async () => {
    const { server, client } = await start(lost, { resendTool: name => name === 'work' })
    const result = await client.callTool({ name: 'work', arguments: {} })
    expect(result.content).toEqual([{ type: 'text', text: 'done' }])
    const [first, second] = ids(server, 'tools/call')
    expect(second).toBe(`${first}~1`)
  })

  test('is cancelled by closing its stream', async () => {
    const { server, client } = await start({ tools: { work: [out => void out.comment()] } })
    const cancel = new AbortController()
    const call = client.callTool({ name: 'work', arguments: {} }, { signal: cancel.signal })
    call.catch(() => {})
    await until(() => server.of('tools/call').length === 1)
    await sleep(100)
    cancel.abort(new Error('no longer wanted'))
    await expect(call).rejects.toThrow()
    await until(() => server.of('tools/call')[0]?.aborted === true)
    expect(server.of('tools/call')).toHaveLength(1)
  })
})

describe('a subscription', () => {
  const acknowledged = (out: Parameters<Leg>[0]) =>
    out.message({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true }, _meta: { [SUBSCRIPTION]: out.id } },
    })
  const changed = (out: Parameters<Leg>[0]) =>
    out.message({ method: 'notifications/tools/list_changed', params: { _meta: { [SUBSCRIPTION]: out.id } } })

  test('that breaks is entered again, and the host is told that lists may have changed', async () => {
    const script: McpScript = {
      methods: {
        'subscriptions/listen': [out => acknowledged(out).reset(), out => void changed(acknowledged(out))],
      },
    }
    const bare = await start(script, 'bare')
    const ended = await bare.client.listen({ toolsListChanged: true })
    expect(await ended.closed).toBe('remote')

    const { server, client, errors } = await start(script)
    const told: unknown[] = []
    client.setNotificationHandler('notifications/tools/list_changed', notification => {
      told.push(notification.params?._meta?.[SUBSCRIPTION])
    })
    const subscription = await client.listen({ toolsListChanged: true })
    await until(() => told.length === 2)
    // Once for what may have been missed, once for the server's own; both under the id that the host knows.
    expect(told).toEqual(['listen:0', 'listen:0'])
    expect(ids(server, 'subscriptions/listen')).toEqual(['listen:0', 'listen:0~1'])
    expect(errors).toEqual([])
    await subscription.close()
    await until(() => server.busy === 0)
  })
})
