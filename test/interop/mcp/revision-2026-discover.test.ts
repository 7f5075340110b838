import { Client, type DiscoverResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type McpFetchOptions, mcpTransport } from 'resilient-sse/mcp'
import { describe, expect, test } from 'vitest'
import { QUICK, sleep } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'
import { closing, complete, connect, DISCOVERED, idsOf, json, streamed, VERSION } from './revision-2026.ts'

// 2026-07-28: a client that knows the server enters without a round trip.

const DISCOVER = 'server/discover'
const PINNED = { versionNegotiation: { mode: { pin: VERSION } } }

const tools: Leg = streamed({ tools: [] })
const starts = async (script: McpScript = {}) => {
  const methods = { [DISCOVER]: [json({ result: DISCOVERED })], 'tools/list': [tools], ...script.methods }
  return closing(await McpFaultServer.start({ ...script, methods }))
}
const asked = (server: McpFaultServer) => server.requests.map(({ rpc }) => rpc)

describe('a client whose server is known', () => {
  test('sends nothing before its first call, as the SDK does that is given what was kept', async () => {
    const discoverStore = new Map<string, DiscoverResult>()
    const server = await starts()
    const first = await connect(server.url, { discoverStore })
    expect(asked(server)).toEqual([DISCOVER])
    expect([...discoverStore.keys()]).toEqual([server.url.href])

    const second = await connect(server.url, { discoverStore })
    expect(second.client.getDiscoverResult()).toEqual(first.client.getDiscoverResult())
    expect(second.client.getServerCapabilities()).toEqual(first.client.getServerCapabilities())
    expect(asked(server)).toEqual([DISCOVER])
    await second.client.listTools()
    expect(asked(server)).toEqual([DISCOVER, 'tools/list'])
    expect(second.errors).toEqual([])

    const bare = new Client({ name: 'test', version: '1' }, PINNED)
    const discover = discoverStore.get(server.url.href) as DiscoverResult
    await bare.connect(new StreamableHTTPClientTransport(server.url), { prior: { kind: 'modern', discover } })
    expect(asked(server)).toHaveLength(2)
    await bare.close()
  })

  test('may leave it to the SDK to negotiate, and keep what the SDK has found', async () => {
    const server = await starts()
    const auto = { versionNegotiation: { mode: 'auto' } } as const
    const { client } = await connect(server.url, {}, auto)
    const found = client.getDiscoverResult() as DiscoverResult
    const discoverStore = new Map([[server.url.href, found]])
    const second = await connect(server.url, { discoverStore }, auto)
    expect(second.client.getProtocolEra()).toBe('modern')
    expect(asked(server)).toEqual([DISCOVER])
  })

  test('may have asked on a stream, even on one that was lost once', async () => {
    const lostOnce: Leg[] = [out => out.comment().reset(), out => streamed(DISCOVERED)(out)]
    const server = await starts({ methods: { [DISCOVER]: lostOnce } })
    const discoverStore = new Map<string, DiscoverResult>()
    await connect(server.url, { discoverStore })
    expect(discoverStore.get(server.url.href)).toMatchObject({ supportedVersions: [VERSION] })
    await connect(server.url, { discoverStore })
    expect(asked(server)).toEqual([DISCOVER, DISCOVER])
  })

  test('hears the server itself when it asks again', async () => {
    const instructions = 'Mind the gap.'
    const answers = [DISCOVERED, complete({ ...DISCOVERED, instructions })].map(result => json({ result }))
    const server = await starts({ methods: { [DISCOVER]: answers } })
    const discoverStore = new Map<string, DiscoverResult>()
    await connect(server.url, { discoverStore })
    const told: unknown[] = []
    const { client } = await connect(server.url, {
      discoverStore,
      onDiscover: change => void told.push(change),
    })
    expect(await client.discover()).toMatchObject({ instructions })
    expect(discoverStore.get(server.url.href)).toMatchObject({ instructions })
    expect(told).toMatchObject([{ url: server.url.href, fresh: { instructions }, reconnect: false }])
  })

  test('may be one of mcpTransport', async () => {
    const server = await starts()
    const discoverStore = new Map<string, DiscoverResult>()
    for (const _ of [1, 2]) {
      const client = new Client({ name: 'test', version: '1' }, PINNED)
      const transport = mcpTransport(StreamableHTTPClientTransport, server.url, {}, { discoverStore })
      await client.connect(transport)
      await client.listTools()
      await client.close()
    }
    expect(asked(server)).toEqual([DISCOVER, 'tools/list', 'tools/list'])
  })
})

describe('a store', () => {
  const without = (name: string) =>
    Object.fromEntries(Object.entries(DISCOVERED).filter(([key]) => key !== name))
  test.each<[what: string, kept: unknown]>([
    ['a text', 'modern'],
    ['a list', [DISCOVERED]],
    ["the SDK's own wrapping", { kind: 'modern', discover: DISCOVERED }],
    ['no versions', without('supportedVersions')],
    ['versions of another kind', { ...DISCOVERED, supportedVersions: [20_260_728] }],
    ['versions of another time', { ...DISCOVERED, supportedVersions: ['2025-11-25'] }],
    ['a revision that this client does not speak', { ...DISCOVERED, supportedVersions: ['2099-01-01'] }],
    ['no capabilities', without('capabilities')],
    ['capabilities of another kind', { ...DISCOVERED, capabilities: { tools: true } }],
    ['flags of another kind', { ...DISCOVERED, capabilities: { tools: { listChanged: 'yes' } } }],
    ['instructions of another kind', { ...DISCOVERED, instructions: 5 }],
    ['a result that is none yet', { ...DISCOVERED, resultType: 'input_required' }],
  ])('that holds %s is put right by the server; the SDK that is given it fails', async (_, kept) => {
    const server = await starts()
    const discoverStore = new Map<string, unknown>([[server.url.href, kept]])
    const { client, errors } = await connect(
      server.url,
      { discoverStore },
      { versionNegotiation: { mode: 'auto' } },
    )
    expect(client.getProtocolEra()).toBe('modern')
    expect(asked(server)).toEqual([DISCOVER])
    expect(discoverStore.get(server.url.href)).toEqual(DISCOVERED)
    expect(errors).toEqual([])
  })

  test('of rubbish makes the SDK alone fail to connect', async () => {
    const server = await starts()
    for (const discover of [{ ...DISCOVERED, supportedVersions: ['2025-11-25'] }, { tools: true }]) {
      const bare = new Client({ name: 'test', version: '1' }, PINNED)
      const prior = { kind: 'modern' as const, discover: discover as unknown as DiscoverResult }
      await expect(
        bare.connect(new StreamableHTTPClientTransport(server.url), { prior }),
      ).rejects.toMatchObject({
        code: 'ERA_NEGOTIATION_FAILED',
      })
    }
  })

  test('may take its time', async () => {
    const kept = new Map<string, unknown>()
    const later = async <Value>(value: Value) => {
      await sleep(20)
      return value
    }
    const discoverStore = {
      get: (url: string) => later(kept.get(url)),
      set: (url: string, result: unknown) => later(kept.set(url, result)),
      delete: (url: string) => later(kept.delete(url)),
    }
    const server = await starts()
    await connect(server.url, { discoverStore })
    const { client } = await connect(server.url, { discoverStore })
    await client.listTools()
    expect(asked(server)).toEqual([DISCOVER, 'tools/list'])
  })

  test.each<[how: string, broken: () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('out of order')
      },
    ],
    ['rejects', () => Promise.reject(new Error('out of order'))],
  ])('that %s is the same as none', async (_, broken) => {
    const server = await starts()
    const discoverStore = { get: broken, set: broken, delete: broken }
    const { client, errors } = await connect(server.url, { discoverStore })
    await client.listTools()
    expect(asked(server)).toEqual([DISCOVER, 'tools/list'])
    expect(errors).toEqual([])
  })

  test('is not asked about the methods of older revisions', async () => {
    const server = await starts()
    const asks: string[] = []
    const discoverStore = {
      get: (url: string) => void asks.push(url),
      set: (url: string) => void asks.push(url),
      delete: (url: string) => void asks.push(url),
    }
    const { client } = await connect(
      server.url,
      { discoverStore },
      { versionNegotiation: { mode: 'legacy' } },
    )
    await client.listTools()
    expect(asks).toEqual([])
    expect(idsOf(server, 'initialize')).toHaveLength(1)
  })
})

test('options of discovery that cannot take effect are refused', async () => {
  const server = await starts()
  const refused = async (options: object) =>
    connect(server.url, options as McpFetchOptions).catch(({ message }) => message)
  expect(await refused({ onDiscover: () => {} })).toContain(
    'onDiscover: cannot take effect without discoverStore',
  )
  expect(await refused({ discoverStore: { get: () => {} } })).toContain(
    'discoverStore: has no get, set and delete',
  )
  expect(await refused({ ...QUICK, discoverStore: new Map(), onDiscover: true })).toContain(
    'onDiscover: not a function',
  )
})
