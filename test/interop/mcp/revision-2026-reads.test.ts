import type { Client } from '@modelcontextprotocol/client'
import { mcpFetch } from 'resilient-sse/mcp'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { QUICK } from './clients.ts'
import { type Leg, McpFaultServer } from './fault-server.ts'
import { both, broken, closing, DISCOVERED, HUNG, idsOf, json, start, streamed } from './revision-2026.ts'

// 2026-07-28: an answer that is lost cannot be resumed. To ask twice for what is only read does no harm.

interface Read {
  method: string
  result: object
  ask: (client: Client, options?: { timeout?: number; signal?: AbortSignal }) => Promise<unknown>
}

const READS: Read[] = [
  { method: 'server/discover', result: DISCOVERED, ask: (client, options) => client.discover(options) },
  { method: 'tools/list', result: { tools: [] }, ask: (client, options) => client.listTools({}, options) },
  {
    method: 'prompts/list',
    result: { prompts: [] },
    ask: (client, options) => client.listPrompts({}, options),
  },
  {
    method: 'prompts/get',
    result: { messages: [] },
    ask: (client, options) => client.getPrompt({ name: 'greet' }, options),
  },
  {
    method: 'resources/list',
    result: { resources: [] },
    ask: (client, options) => client.listResources({}, options),
  },
  {
    method: 'resources/templates/list',
    result: { resourceTemplates: [] },
    ask: (client, options) => client.listResourceTemplates({}, options),
  },
  {
    method: 'resources/read',
    result: { contents: [] },
    ask: (client, options) => client.readResource({ uri: 'memo://1' }, options),
  },
  {
    method: 'completion/complete',
    result: { completion: { values: [] } },
    ask: (client, options) =>
      client.complete(
        { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'w' } },
        options,
      ),
  },
  {
    method: 'tasks/get',
    result: { taskId: 'task-1', status: 'working' },
    ask: (client, options) =>
      client.request(
        { method: 'tasks/get', params: { taskId: 'task-1' } },
        z.looseObject({ taskId: z.string() }),
        options,
      ),
  },
]

/** The first answer after the connect is lost. */
const lostOnce = ({ method, result }: Read, again: Leg = streamed(result)) => ({
  methods: {
    [method]: [...(method === 'server/discover' ? [json({ result })] : []), broken, again],
  },
})

describe('a read whose answer is lost', () => {
  test.each(READS)('$method is asked for again under a new id; the SDK alone hangs', async read => {
    const { bare, ours } = await both(lostOnce(read))
    const atConnect = read.method === 'server/discover' ? 1 : 0
    await expect(read.ask(bare.client, { timeout: 1_000 })).rejects.toMatchObject(HUNG)
    expect(idsOf(bare.server, read.method)).toHaveLength(atConnect + 1)

    expect(await read.ask(ours.client)).toMatchObject(
      read.method === 'server/discover' ? { supportedVersions: ['2026-07-28'] } : read.result,
    )
    const [first, second, ...others] = idsOf(ours.server, read.method).slice(atConnect)
    expect([second, others]).toEqual([`${first}~1`, []])
    expect(ours.errors).toEqual([])
  })

  test('says the same in its headers and its body, but for the id', async () => {
    for (const read of READS.slice(1)) {
      const { server, client } = await start(lostOnce(read))
      await read.ask(client)
      const [first, second] = server.of(read.method)
      expect(second?.params).toEqual(first?.params)
      const { 'content-length': _, ...headers } = first?.headers ?? {}
      expect(second?.headers).toMatchObject(headers)
      expect(headers).toMatchObject({
        authorization: 'Bearer secret',
        'mcp-method': read.method,
        'mcp-protocol-version': '2026-07-28',
      })
      expect(second?.headers['last-event-id']).toBeUndefined()
    }
  })

  test('names the thing in a header that it asks for again', async () => {
    const named = READS.filter(({ method }) =>
      ['prompts/get', 'resources/read', 'tasks/get'].includes(method),
    )
    const names = await Promise.all(
      named.map(async read => {
        const { server, client } = await start(lostOnce(read))
        await read.ask(client)
        return server.of(read.method).map(({ headers }) => headers['mcp-name'])
      }),
    )
    expect(names).toEqual([
      ['greet', 'greet'],
      ['memo://1', 'memo://1'],
      ['task-1', 'task-1'],
    ])
  })

  test('may be the one that connects', async () => {
    const script = { methods: { 'server/discover': [broken, json({ result: DISCOVERED })] } }
    const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' }, probe: { timeoutMs: 1_000 } } }
    await expect(start(script, 'bare', pinned)).rejects.toMatchObject(HUNG)
    const { server } = await start(script)
    expect(idsOf(server, 'server/discover')).toEqual(['server-discover-probe-1', 'server-discover-probe-1~1'])
  })

  test('may have been lost before the answer began; the SDK alone fails', async () => {
    const dropped: Leg = out => out.drop()
    const { bare, ours } = await both({
      methods: { 'tools/list': [dropped, streamed({ tools: [] })] },
    })
    await expect(bare.client.listTools()).rejects.toThrow('fetch failed')
    expect(await ours.client.listTools()).toMatchObject({ tools: [] })
    expect(idsOf(ours.server, 'tools/list')).toHaveLength(2)
    expect(ours.errors).toEqual([])
  })

  test('is settled when it was signed: a second use would be a replay', async () => {
    const server = closing(
      await McpFaultServer.start({ methods: { 'tools/list': [broken, streamed({ tools: [] })] } }),
    )
    const response = await mcpFetch(QUICK)(server.url, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        authorization: 'DPoP bound',
        dpop: 'proof',
        'mcp-protocol-version': '2026-07-28',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    })
    expect(await response.text()).toContain('"reason":"not-resent"')
    expect(idsOf(server, 'tools/list')).toEqual([1])
  })

  test('goes on with its progress, under the token that the client knows', async () => {
    const progress =
      (progress: number): Leg =>
      out =>
        void out.message({
          method: 'notifications/progress',
          params: {
            progressToken: (out.seen.params as { _meta: { progressToken: number } })._meta.progressToken,
            progress,
          },
        })
    const half: Leg = async out => {
      await progress(1)(out)
      out.reset()
    }
    const whole: Leg = async out => {
      await progress(2)(out)
      await streamed({ tools: [] })(out)
    }
    const { bare, ours } = await both({ methods: { 'tools/list': [half, whole] } })
    const told: number[][] = [[], []]
    const heard = (index: number) => ({
      onprogress: ({ progress }: { progress: number }) => void told[index]?.push(progress),
    })
    await expect(bare.client.listTools({}, { ...heard(0), timeout: 1_000 })).rejects.toMatchObject(HUNG)
    await ours.client.listTools({}, heard(1))
    expect(told).toEqual([[1], [1, 2]])
    expect(ours.errors).toEqual([])
  })
})
