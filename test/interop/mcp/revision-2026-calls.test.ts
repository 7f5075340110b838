import { mcpFetch } from 'resilient-sse/mcp'
import { describe, expect, test } from 'vitest'
import { sleep, until } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'
import {
  both,
  broken,
  type Connected,
  closing,
  complete,
  done,
  HUNG,
  idsOf,
  lost,
  start,
} from './revision-2026.ts'

// 2026-07-28: a tool may have done its work before its answer was lost.

const call = (client: Connected['client'], options: { timeout?: number; signal?: AbortSignal } = {}) =>
  client.callTool({ name: 'work', arguments: {} }, options)
const text = [{ type: 'text', text: 'done' }]

describe('a tool call whose answer is lost', () => {
  test.each<[how: string, leg: Leg, code: string]>([
    ['by a reset', broken, 'ERR_SSE_NETWORK'],
    ['by an end without a result', out => out.comment().end(), 'ERR_SSE_END'],
  ])('%s is settled at once and not sent again; the SDK alone hangs', async (_, leg, code) => {
    const { bare, ours } = await both({ tools: { work: [leg, done] } })
    await expect(call(bare.client, { timeout: 1_000 })).rejects.toMatchObject(HUNG)
    expect(bare.server.of('tools/call')).toHaveLength(1)

    await expect(call(ours.client)).rejects.toMatchObject(lost({ reason: 'not-resent', attempts: 0, code }))
    await sleep(300)
    expect(ours.server.of('tools/call')).toHaveLength(1)
    expect(ours.errors).toEqual([])
  })

  test('before it began fails as it does with the SDK alone, and is not sent again', async () => {
    const { bare, ours } = await both({ tools: { work: [out => out.drop(), done] } })
    for (const { client, server } of [bare, ours]) {
      await expect(call(client)).rejects.toThrow('fetch failed')
      await sleep(300)
      expect(server.of('tools/call')).toHaveLength(1)
    }
  })

  test('is sent again where the host says that the tool may be, with the headers of the call', async () => {
    const inputSchema = {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    }
    const tools = [{ name: 'work', inputSchema }]
    const script: McpScript = {
      tools: { work: [broken, done], other: [broken, done] },
      methods: { 'tools/list': [out => out.message({ id: out.id, result: complete({ tools }) }).end()] },
    }
    const { server, client } = await start(script, { resendTool: name => name === 'work' })
    await client.listTools()
    const { content } = await client.callTool({ name: 'work', arguments: { region: 'north' } })
    expect(content).toEqual(text)
    const [first, second] = server.of('tools/call')
    expect(second?.id).toBe(`${first?.id}~1`)
    for (const seen of [first, second])
      expect(seen?.headers).toMatchObject({
        'mcp-method': 'tools/call',
        'mcp-name': 'work',
        'mcp-param-region': 'north',
        'mcp-protocol-version': '2026-07-28',
      })
    await expect(client.callTool({ name: 'other', arguments: {} })).rejects.toMatchObject(
      lost({ reason: 'not-resent' }),
    )
    expect(server.of('tools/call')).toHaveLength(3)
  })
})

test('a tool is not called again when the host cannot say whether it may be', async () => {
  const resendTool = () => {
    throw new Error('unknown tool')
  }
  const { server, client } = await start({ tools: { work: [broken, done] } }, { resendTool })
  await expect(call(client)).rejects.toMatchObject(lost({ reason: 'not-resent' }))
  expect(server.of('tools/call')).toHaveLength(1)
})

describe('a GET', () => {
  test('is never sent, although the server gives its events ids; the SDK alone sends it', async () => {
    const numbered: Leg = out => out.prime('work/1', 10).log('half', 'work/2').end()
    const { bare, ours } = await both({
      tools: { work: [numbered] },
      methods: {
        'tools/list': [numbered, out => out.message({ id: out.id, result: complete({ tools: [] }) }).end()],
      },
    })
    await expect(call(bare.client, { timeout: 1_000 })).rejects.toMatchObject(HUNG)
    expect(bare.server.of('GET').map(({ headers }) => headers['last-event-id'])).toContain('work/2')

    await expect(call(ours.client)).rejects.toMatchObject(lost({ reason: 'not-resent' }))
    expect(await ours.client.listTools()).toMatchObject({ tools: [] })
    await sleep(300)
    expect(ours.server.of('GET')).toEqual([])
    expect(ours.server.requests.filter(({ headers }) => 'last-event-id' in headers)).toEqual([])
  })
})

describe('closing a stream, which cancels its call,', () => {
  test('is what the caller wants, with the SDK alone as well', async () => {
    const { bare, ours } = await both({ tools: { work: [out => void out.comment()] } })
    for (const { server, client } of [bare, ours]) {
      const cancel = new AbortController()
      const calling = call(client, { signal: cancel.signal })
      await until(() => server.of('tools/call').length === 1)
      await sleep(50)
      expect(server.of('tools/call')[0]?.aborted).toBe(false)
      cancel.abort(new Error('no longer wanted'))
      await expect(calling).rejects.toThrow()
      await until(() => server.of('tools/call')[0]?.aborted === true)
      expect(server.of('notifications/cancelled')).toEqual([])
    }
  })

  test('follows from a timeout, with the SDK alone as well', async () => {
    const { bare, ours } = await both({ tools: { work: [out => void out.comment()] } })
    for (const { server, client } of [bare, ours]) {
      await expect(call(client, { timeout: 200 })).rejects.toMatchObject(HUNG)
      await until(() => server.of('tools/call')[0]?.aborted === true)
      expect(server.of('tools/call')).toHaveLength(1)
    }
  })

  test('does not happen to a call that is alive, whatever else is said on it', async () => {
    const chatty: Leg = async out => {
      out.prime('1').message({ id: 'another', result: {} }).raw('id: 2\n\n').raw('data: no JSON\n\n')
      await out.pause(400)
      out.message({ id: out.id, result: complete({ content: text }) }).end()
    }
    const { server, client } = await start({ tools: { work: [chatty] } })
    expect((await call(client)).content).toEqual(text)
    expect(server.of('tools/call')).toMatchObject([{ aborted: false }])
  })
})

describe('a result that asks for input', () => {
  const inputRequests = {
    name: {
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Whose?', requestedSchema: { type: 'object', properties: {} } },
    },
  }
  const asking: Leg = out =>
    out
      .message({
        id: out.id,
        result: { resultType: 'input_required', inputRequests, requestState: 'opaque' },
      })
      .end()
  const capabilities = { capabilities: { elicitation: {} } }

  test('passes through untouched, for hosts that answer it themselves', async () => {
    const { bare, ours } = await both({ tools: { work: [asking] } }, {}, capabilities)
    for (const { client } of [bare, ours]) {
      const result = await client.request(
        { method: 'tools/call', params: { name: 'work', arguments: {} } },
        { allowInputRequired: true },
      )
      expect(result).toEqual({ resultType: 'input_required', inputRequests, requestState: 'opaque' })
    }
  })

  test('is answered by the SDK in a second call, the same with the wrapper as without', async () => {
    const { bare, ours } = await both({ tools: { work: [asking, done] } }, {}, capabilities)
    const rounds = []
    for (const { server, client } of [bare, ours]) {
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
      expect((await call(client)).content).toEqual(text)
      rounds.push(server.of('tools/call').map(({ id, params }) => ({ id, params })))
    }
    expect(rounds[0]?.[1]?.params).toMatchObject({
      inputResponses: { name: { action: 'accept' } },
      requestState: 'opaque',
    })
    expect(rounds[1]).toEqual(rounds[0])
  })
})

describe('a batch', () => {
  test('does not exist in this revision: what the server makes of it passes through', async () => {
    const answer: Leg = out => void out.raw('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')
    const server = closing(await McpFaultServer.start({ methods: { '': [answer] } }))
    const fetch = mcpFetch()
    const ask = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list', params: {} })
    const response = await fetch(server.url, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
      },
      body: JSON.stringify([ask(1), ask(2)]),
    })
    const reader = response.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"id":1')
    // One of two is answered: the stream is not taken for finished.
    await sleep(300)
    expect(server.requests).toMatchObject([{ aborted: false }])
    await reader?.cancel()
    expect(idsOf(server, 'POST')).toHaveLength(1)
  })
})
