import type { DiscoverResult } from '@modelcontextprotocol/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type DiscoverChange, mcpFetch } from 'resilient-sse/mcp'
import { describe, expect, test } from 'vitest'
import { QUICK } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'
import {
  broken,
  closing,
  complete,
  connect,
  DISCOVERED,
  done,
  idsOf,
  json,
  streamed,
  VERSION,
} from './revision-2026.ts'

// 2026-07-28: what was kept of a server is no longer true. The first call tells, and nothing runs twice.

const DISCOVER = 'server/discover'
const CHANGED = complete({ ...DISCOVERED, capabilities: { tools: {} } })
const NEWER = { ...DISCOVERED, supportedVersions: ['2099-01-01'] }

const tools: Leg = streamed({ tools: [] })
const work = { name: 'work', arguments: {} }
const unsupported = json(
  { error: { code: -32_022, message: 'Unsupported protocol version', data: { supported: ['2025-11-25'] } } },
  400,
)
const unknownMethod = json({ error: { code: -32_601, message: 'Method not found' } }, 404)
/** What servers of 2025 say: they do not name the request. */
const refusal = (status: number): Leg => {
  const error = { code: -32_000, message: 'Bad Request: Unsupported protocol version' }
  return out =>
    out.answer(status, JSON.stringify({ jsonrpc: '2.0', id: null, error }), {
      'content-type': 'application/json',
    })
}

/** A client that has entered with `DISCOVERED`, which nobody has said to it lately. */
async function entered(script: McpScript) {
  const methods = { [DISCOVER]: [json({ result: DISCOVERED })], ...script.methods }
  const server = closing(await McpFaultServer.start({ ...script, methods }))
  const discoverStore = new Map<string, unknown>([[server.url.href, DISCOVERED]])
  const changes: DiscoverChange[] = []
  const onDiscover = (change: DiscoverChange) => void changes.push(change)
  const connected = await connect(server.url, { discoverStore, onDiscover })
  expect(server.requests).toEqual([])
  const kept = () => discoverStore.get(server.url.href)
  return { server, changes, kept, discoverStore, ...connected }
}

/** The SDK alone, which its host has given the same. */
async function enteredBare(script: McpScript) {
  const server = closing(await McpFaultServer.start(script))
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: VERSION } } },
  )
  const prior = { kind: 'modern' as const, discover: DISCOVERED as unknown as DiscoverResult }
  await client.connect(new StreamableHTTPClientTransport(server.url), { prior })
  closing({ [Symbol.asyncDispose]: () => client.close() })
  return { server, client }
}

describe('a first call that the server refuses for its protocol version', () => {
  test('is sent again when the server speaks it after all; the SDK alone fails', async () => {
    const script = { tools: { work: [unsupported, done] } }
    const bare = await enteredBare(script)
    await expect(bare.client.callTool(work)).rejects.toMatchObject({ code: -32_022 })

    const { server, client, changes, kept, errors } = await entered(script)
    expect((await client.callTool(work)).content).toEqual([{ type: 'text', text: 'done' }])
    expect(server.requests.map(({ rpc }) => rpc)).toEqual(['tools/call', DISCOVER, 'tools/call'])
    expect([changes, errors]).toEqual([[], []])
    expect(kept()).toEqual(DISCOVERED)
  })

  test.each<[what: string, answer: Leg, fresh: unknown]>([
    ['another revision', json({ result: NEWER }), NEWER],
    ['no word of this one', unsupported, undefined],
    ['nothing of the question', unknownMethod, undefined],
    ['as servers of 2025 do', refusal(400), undefined],
  ])(
    'fails with that when the server then says %s, and the host is told to connect anew',
    async (_, answer, fresh) => {
      const { server, client, changes, kept, errors } = await entered({
        methods: { [DISCOVER]: [answer] },
        tools: { work: [unsupported] },
      })
      for (const _ of [1, 2]) await expect(client.callTool(work)).rejects.toMatchObject({ code: -32_022 })
      // The second one is no news.
      expect(server.requests.map(({ rpc }) => rpc)).toEqual(['tools/call', DISCOVER, 'tools/call'])
      expect(changes).toEqual([
        { at: expect.any(Number), url: server.url.href, kept: DISCOVERED, fresh, reconnect: true },
      ])
      expect(kept()).toEqual(fresh)
      expect(errors).toEqual([])
    },
  )

  test('makes 20 callers ask once, and each is sent again once', async () => {
    const all = Array.from({ length: 20 }, () => unsupported)
    const { server, client } = await entered({ tools: { work: [...all, done] } })
    const results = await Promise.all(all.map(() => client.callTool(work)))
    expect(results.map(({ content }) => content)).toHaveLength(20)
    expect(idsOf(server, DISCOVER)).toHaveLength(1)
    expect(idsOf(server, 'tools/call')).toHaveLength(40)
  })

  test('is asked about in the name of the client, and of nothing else', async () => {
    const { server, client } = await entered({ tools: { work: [unsupported, done] } })
    await client.callTool({ ...work, _meta: { trace: 'of the call' } }, { onprogress: () => {} })
    const [call, probe] = server.requests
    expect(probe?.headers).toMatchObject({
      authorization: 'Bearer secret',
      'mcp-method': DISCOVER,
      'mcp-protocol-version': VERSION,
    })
    expect(probe?.headers).not.toHaveProperty('mcp-name')
    const { progressToken, trace, ...envelope } = (call?.params?._meta ?? {}) as Record<string, unknown>
    expect([progressToken, trace]).toEqual([expect.any(Number), 'of the call'])
    expect(probe?.params).toEqual({ _meta: envelope })
    expect(Object.keys(envelope)).toContain('io.modelcontextprotocol/clientCapabilities')
  })

  test('is no longer the last word once the host has asked the server itself', async () => {
    const { server, client, kept } = await entered({
      methods: { [DISCOVER]: [unsupported, json({ result: DISCOVERED })] },
      tools: { work: [unsupported] },
    })
    await expect(client.callTool(work)).rejects.toMatchObject({ code: -32_022 })
    expect(kept()).toBeUndefined()
    await client.discover()
    expect(kept()).toEqual(DISCOVERED)
    expect(idsOf(server, DISCOVER)).toHaveLength(2)
  })

  test('is noticed in the middle of a connection, too', async () => {
    const { server, client, changes } = await entered({
      methods: { [DISCOVER]: [json({ result: NEWER })] },
      tools: { work: [done, unsupported] },
    })
    await client.callTool(work)
    await expect(client.callTool(work)).rejects.toMatchObject({ code: -32_022 })
    expect(idsOf(server, DISCOVER)).toHaveLength(1)
    expect(changes).toMatchObject([{ reconnect: true }])
  })

  test('fails with that when the server cannot be asked, and nothing is kept', async () => {
    for (const answer of [out => out.answer(503), out => out.answer(401), broken] satisfies Leg[]) {
      const { client, changes, kept, server } = await entered({
        methods: { [DISCOVER]: [answer] },
        tools: { work: [unsupported] },
      })
      await expect(client.callTool(work)).rejects.toMatchObject({ code: -32_022 })
      expect(idsOf(server, 'tools/call')).toHaveLength(1)
      expect([changes, kept()]).toEqual([[], undefined])
    }
  })
})

describe('a first call that the server does not understand', () => {
  const answered = (result: object) => ({ [DISCOVER]: [json({ result })] })

  test.each<[what: string, methods: NonNullable<McpScript['methods']>, toolLegs: Leg[], sent: string[]]>([
    [
      'a read refused by 400',
      { ...answered(CHANGED), 'tools/list': [refusal(400), tools] },
      [],
      ['tools/list', DISCOVER, 'tools/list'],
    ],
    [
      'a tool call refused by 404',
      answered(CHANGED),
      [refusal(404), done],
      ['tools/call', DISCOVER, 'tools/call'],
    ],
  ])('is sent again when the server has changed: %s', async (_, methods, toolLegs, sent) => {
    const { server, client, changes, kept, errors } = await entered({ methods, tools: { work: toolLegs } })
    await (sent[0] === 'tools/list' ? client.listTools() : client.callTool(work))
    expect(server.requests.map(({ rpc }) => rpc)).toEqual(sent)
    expect(changes).toMatchObject([{ kept: DISCOVERED, fresh: CHANGED, reconnect: false }])
    expect(kept()).toEqual(CHANGED)
    expect(errors).toEqual([])
  })

  test.each<[what: string, result: object, leg: Leg]>([
    ['a tool call that 400 may have come after', CHANGED, refusal(400)],
    ['a method that is unknown', CHANGED, unknownMethod],
    ['a server that has not changed', DISCOVERED, refusal(404)],
  ])('is not sent again: %s', async (_, result, leg) => {
    const { server, client, changes, kept } = await entered({
      methods: answered(result),
      tools: { work: [leg, done] },
    })
    await expect(client.callTool(work)).rejects.toThrow(/Unsupported protocol version|Method not found/)
    expect(server.requests.map(({ rpc }) => rpc)).toEqual(['tools/call', DISCOVER])
    expect(changes).toHaveLength(result === CHANGED ? 1 : 0)
    expect(kept()).toEqual(result)
  })

  test('says no more than that after one that it did', async () => {
    const { server, client, kept } = await entered({
      methods: { 'tools/list': [tools], 'prompts/list': [unknownMethod] },
    })
    await client.listTools()
    await expect(client.listPrompts()).rejects.toThrow('Method not found')
    expect(idsOf(server, DISCOVER)).toEqual([])
    expect(kept()).toEqual(DISCOVERED)
  })

  test.each<[what: string, leg: Leg]>([
    ['invalid parameters', json({ error: { code: -32_602, message: 'no' } }, 400)],
    ['headers that differ from the body', json({ error: { code: -32_020, message: 'no' } }, 400)],
    ['other credentials', out => out.answer(401)],
    ['too much at once', out => out.answer(429)],
    ['its own fault', out => out.answer(500)],
    ['an error of the tool', json({ error: { code: -32_022, message: 'of a server behind this one' } })],
  ])('is another matter when it says: %s', async (_, leg) => {
    const { server, client, kept } = await entered({ tools: { work: [leg] } })
    await expect(client.callTool(work)).rejects.toThrow()
    expect(idsOf(server, DISCOVER)).toEqual([])
    expect(kept()).toEqual(DISCOVERED)
  })
})

test('a server that was taken back to 2025 costs one call, and then a handshake', async () => {
  const legacy: Leg = out => refusal(400)(out)
  const { server, client, discoverStore } = await entered({
    methods: { [DISCOVER]: [legacy], 'tools/list': [legacy] },
  })
  await expect(client.listTools()).rejects.toThrow('Unsupported protocol version')
  const again = await connect(server.url, { discoverStore }, { versionNegotiation: { mode: 'auto' } })
  expect(again.client.getProtocolEra()).toBe('legacy')
  expect(server.of('initialize')).toHaveLength(1)
})

test('a client that its host lets in is watched over as well', async () => {
  const server = closing(
    await McpFaultServer.start({
      methods: { [DISCOVER]: [json({ result: CHANGED })], 'prompts/list': [unknownMethod] },
    }),
  )
  const discoverStore = new Map([[server.url.href, DISCOVERED as unknown as DiscoverResult]])
  const changes: DiscoverChange[] = []
  const fetch = mcpFetch({
    ...QUICK,
    discoverStore,
    onDiscover: change => {
      changes.push(change)
      throw new Error('a listener cannot hurt a call')
    },
  })
  const client = new Client({ name: 'test', version: '1' })
  const discover = discoverStore.get(server.url.href) as DiscoverResult
  await client.connect(new StreamableHTTPClientTransport(server.url, { fetch }), {
    prior: { kind: 'modern', discover },
  })
  await expect(client.listPrompts()).rejects.toThrow('Method not found')
  expect(changes).toMatchObject([{ kept: DISCOVERED, fresh: CHANGED, reconnect: false }])
  expect(discoverStore.get(server.url.href)).toEqual(CHANGED)
  await client.close()
})
