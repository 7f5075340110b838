import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sleep, until } from './clients.ts'
import type { Leg } from './fault-server.ts'
import {
  both,
  broken,
  complete,
  DISCOVERED,
  HUNG,
  idsOf,
  json,
  lost,
  start,
  streamed,
} from './revision-2026.ts'

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
const LIST = READS[1] as Read

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
    await expect(read.ask(bare.client, { timeout: 400 })).rejects.toMatchObject(HUNG)
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
    const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' }, probe: { timeoutMs: 400 } } }
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
    await expect(bare.client.listTools({}, { ...heard(0), timeout: 400 })).rejects.toMatchObject(HUNG)
    await ours.client.listTools({}, heard(1))
    expect(told).toEqual([[1], [1, 2]])
    expect(ours.errors).toEqual([])
  })
})

describe('what is answered the second time', () => {
  const text = (body: string, status: number, headers: Record<string, string> = {}): Leg => {
    return out => out.answer(status, body.replaceAll('$id', JSON.stringify(out.id)), headers)
  }
  const asJson = { 'content-type': 'application/json' }
  const unattributed = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}'
  const failure = { error: { code: -32_603, message: 'no such cursor' } }

  test.each<[what: string, again: Leg, outcome: object]>([
    ['a result in plain JSON', json({ result: complete({ tools: [] }) }), { tools: [] }],
    ['an error in plain JSON', json(failure), failure.error],
    [
      'an error with its HTTP status',
      json({ error: { code: -32_601, message: 'unknown' } }, 404),
      { code: -32_601 },
    ],
    ['an error of a server that has a fault', json(failure, 500), failure.error],
    ['400 without a word', text('', 400), lost({ reason: 'not-resumable', status: 400, attempts: 1 })],
    ['404, which is no lost session', text('', 404), lost({ reason: 'not-resumable', status: 404 })],
    [
      'an error that names no request',
      text(unattributed, 400, asJson),
      lost({ reason: 'not-resumable', status: 400 }),
    ],
    ['401', text('', 401), lost({ reason: 'unauthorized', status: 401 })],
    ['403', text('', 403), lost({ reason: 'unauthorized', status: 403 })],
    [
      'a redirect to elsewhere',
      text('', 307, { location: 'http://127.0.0.1:1/' }),
      lost({ reason: 'not-resumable', status: 307 }),
    ],
    [
      'a redirect that asks for a GET',
      text('', 303, { location: '/mcp' }),
      lost({ reason: 'not-resumable', status: 303 }),
    ],
  ])('%s is the end of it', async (_, again, outcome) => {
    const { server, client, errors } = await start({ methods: { 'tools/list': [broken, again] } })
    expect(await client.listTools({}).catch(error => error)).toMatchObject(outcome)
    expect(idsOf(server, 'tools/list')).toHaveLength(2)
    expect(server.of('GET')).toEqual([])
    expect(errors).toEqual([])
  })

  test.each<[what: string, again: Leg]>([
    ['429', text('', 429)],
    ['503 with an error in it', json(failure, 503)],
    ['a page', text('<p>Soon.</p>', 200, { 'content-type': 'text/html' })],
    ['a redirect within the origin', text('', 307, { location: '/mcp' })],
    ['no answer at all', out => out.drop()],
  ])('%s is asked for once more', async (_, again) => {
    const legs = [broken, again, streamed({ tools: [] })]
    const { server, client, errors } = await start({ methods: { 'tools/list': legs } })
    expect(await client.listTools()).toMatchObject({ tools: [] })
    const [first, ...others] = idsOf(server, 'tools/list')
    expect(others).toEqual([`${first}~1`, `${first}~2`])
    expect(errors).toEqual([])
  })

  test('may take as long as the caller gives it', async () => {
    const late: Leg = async out => {
      await out.pause(500)
      await json({ result: complete({ tools: [] }) })(out)
    }
    const { server, client } = await start(
      { methods: { 'tools/list': [broken, late] } },
      { openTimeoutMs: 100 },
    )
    expect(await client.listTools()).toMatchObject({ tools: [] })
    expect(idsOf(server, 'tools/list')).toHaveLength(2)
  })

  test('is settled when it is lost again and again', async () => {
    const { server, client } = await start(
      { methods: { 'tools/list': [broken] } },
      { backoff: { baseMs: 10, maxMs: 20, maxAttempts: 3 } },
    )
    await expect(client.listTools()).rejects.toMatchObject(lost({ reason: 'exhausted', attempts: 3 }))
    expect(idsOf(server, 'tools/list')).toHaveLength(4)
  })
})

describe('a read that the caller cancels', () => {
  test('while it waits is not asked for again', async () => {
    const backoff = { baseMs: 400, maxMs: 400, jitter: 0 } as const
    const { server, client } = await start({ methods: { 'tools/list': [broken] } }, { backoff })
    const cancel = new AbortController()
    const reading = LIST.ask(client, { signal: cancel.signal })
    await until(() => server.of('tools/list').length === 1 && server.busy === 0)
    cancel.abort()
    await expect(reading).rejects.toThrow()
    await sleep(700)
    expect(idsOf(server, 'tools/list')).toHaveLength(1)
  })

  test('closes the leg that it is on, and tells it by nothing else', async () => {
    const { server, client, errors } = await start({
      methods: { 'tools/list': [broken, out => void out.comment()] },
    })
    const cancel = new AbortController()
    const reading = LIST.ask(client, { signal: cancel.signal })
    await until(() => server.of('tools/list').length === 2)
    cancel.abort()
    await expect(reading).rejects.toThrow()
    await until(() => server.of('tools/list')[1]?.aborted === true)
    expect(server.of('notifications/cancelled')).toEqual([])
    expect(errors).toEqual([])
  })
})
