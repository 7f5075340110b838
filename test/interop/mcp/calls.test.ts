import type { LifecycleEvent } from 'resilient-sse'
import { afterEach, describe, expect, test } from 'vitest'
import { type ConnectOptions, connect, type Line, sleep, type TestClient, until, wrapped } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'

// What mcpFetch does and does not do for a call, whatever becomes of its stream.

const LINES: Line[] = ['v1', 'v2']
const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

async function start(
  line: Line,
  script: McpScript,
  how: ConnectOptions = wrapped(),
): Promise<[McpFaultServer, TestClient]> {
  const server = await McpFaultServer.start(script)
  open.push(server)
  const client = await connect(line, server.url, how)
  open.push(client)
  return [server, client]
}

const resumes = (server: McpFaultServer) =>
  server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined)

describe.each(LINES)('%s:', line => {
  test('a finished call is not asked for again, by a result or by an error', async () => {
    const fails: Leg = out => out.message({ id: out.id, error: { code: 7, message: 'no' } }, 'fails/1').end()
    const script: McpScript = {
      tools: { works: [out => out.result('done', 'works/1').end()], fails: [fails] },
    }
    const [server, client] = await start(line, script)
    const [bareServer, bare] = await start(line, script, {})
    expect(await client.call('works')).toBe('done')
    await expect(client.call('fails')).rejects.toMatchObject({ code: 7 })
    await expect(bare.call('fails')).rejects.toMatchObject({ code: 7 })
    await sleep(1_300)
    expect(resumes(server)).toEqual([])
    expect(client.errors).toEqual([])
    // v1 takes only a result for an answer. v2 has mended that.
    expect(resumes(bareServer).length > 0).toBe(line === 'v1')
  })

  test('a server that leaves a finished stream open is not waited for', async () => {
    const [server, client] = await start(line, {
      tools: { work: [out => void out.result('done', 'work/1')] },
    })
    expect(await client.call('work')).toBe('done')
    await until(() => server.of('tools/call')[0]?.aborted === true)
    expect(resumes(server)).toEqual([])
  })

  test('30 plain calls in a row use 2 connections at most', async () => {
    const [server, client] = await start(line, { tools: { work: [out => out.result('done').end()] } })
    for (let call = 0; call < 30; call++) expect(await client.call('work')).toBe('done')
    const sockets = new Set(server.of('tools/call').map(({ socket }) => socket))
    expect(sockets.size).toBeLessThanOrEqual(2)
    expect(server.of('tools/call')).toHaveLength(30)
  })

  test('a poll waits for `retry:` and at most 100 ms more', async () => {
    const polled: Leg[] = [out => out.prime('work/1', 500).end(), out => out.result('done', 'work/2').end()]
    const waits: number[] = []
    const onLifecycle = (event: LifecycleEvent) => void (event.type === 'wait' && waits.push(event.delayMs))
    const [server, client] = await start(line, { tools: { work: polled } }, wrapped({ onLifecycle }))
    expect(await client.call('work')).toBe('done')
    expect(waits).toHaveLength(1)
    expect(waits[0]).toBeGreaterThanOrEqual(500)
    expect(waits[0]).toBeLessThanOrEqual(600)
    const waited = (resumes(server)[0]?.at ?? 0) - (server.of('tools/call')[0]?.at ?? 0)
    expect(waited).toBeGreaterThanOrEqual(450)
  })

  test.each<[string, (id: string) => string]>([
    ['an empty event', id => `id: ${id}\ndata: \n\n`],
    ['a block of an id alone', id => `id: ${id}\n\n`],
  ])('polls that bring %s and nothing else are no failures', async (_, primed) => {
    const polls = Array.from(
      { length: 6 },
      (__, poll): Leg =>
        out =>
          out.raw(primed(`work/${poll}`)).end(),
    )
    const [server, client] = await start(
      line,
      { tools: { work: [...polls, out => out.result('done', 'work/6').end()] } },
      wrapped({ backoff: { baseMs: 10, maxMs: 20, maxAttempts: 2 } }),
    )
    expect(await client.call('work')).toBe('done')
    expect(resumes(server)).toHaveLength(6)
  })

  test('a primed initialize is resumed with the session and the version of the protocol', async () => {
    const server = await McpFaultServer.start({
      methods: {
        initialize: [out => out.open({ 'mcp-session-id': 'fresh' }).prime('initialize/1', 50).end()],
      },
      resumed: {
        initialize: out =>
          out
            .message(
              {
                id: out.id,
                result: {
                  protocolVersion: '2025-11-25',
                  capabilities: { tools: {} },
                  serverInfo: { name: 'faulty', version: '1' },
                },
              },
              'initialize/2',
            )
            .end(),
      },
    })
    open.push(server)
    open.push(await connect(line, server.url, wrapped()))
    expect(resumes(server).map(({ headers }) => headers)).toMatchObject([
      { 'last-event-id': 'initialize/1', 'mcp-session-id': 'fresh', 'mcp-protocol-version': '2025-11-25' },
    ])
  })

  test('a cancelled call is not asked for again, where the SDK alone goes on polling', async () => {
    const polled: Leg = out => out.prime('work/1', 100).end()
    /** Cancels a call that is being polled. Returns how often it was asked for after that. */
    async function cancelled(how: ConnectOptions): Promise<() => number> {
      const [server, client] = await start(line, { tools: { work: [polled] } }, how)
      const cancel = new AbortController()
      const call = client.call('work', { signal: cancel.signal })
      call.catch(() => {})
      await until(() => resumes(server).length >= 2)
      cancel.abort(new Error('no longer wanted'))
      await expect(call).rejects.toThrow()
      await until(() => server.of('notifications/cancelled').length === 1)
      const before = resumes(server).length
      return () => resumes(server).length - before
    }
    const [bare, survivor] = await Promise.all([cancelled({}), cancelled(wrapped())])
    await Promise.all([until(() => bare() > 3), sleep(1_500)])
    // A leg that was on its way may arrive.
    expect(survivor()).toBeLessThanOrEqual(1)
  })

  test('a call that runs into its timeout is not asked for again', async () => {
    const [server, client] = await start(line, {
      tools: { work: [out => out.prime('work/1', 100).end(), out => out.prime('work/1', 100).end()] },
    })
    await expect(client.call('work', { timeout: 700 })).rejects.toThrow()
    await until(() => server.of('notifications/cancelled').length === 1)
    const asked = resumes(server).length
    expect(asked).toBeGreaterThan(0)
    await sleep(1_500)
    expect(resumes(server).length - asked).toBeLessThanOrEqual(1)
  })

  test('event ids are passed on for hosts that keep them, and none is asked for after the end', async () => {
    const [server, client] = await start(
      line,
      { tools: { work: [out => out.log('one', 'work/1').end(), out => out.result('done', 'work/2').end()] } },
      wrapped({ forwardEventIds: true }),
    )
    const tokens: string[] = []
    expect(await client.call('work', { onresumptiontoken: token => tokens.push(token) })).toBe('done')
    expect(tokens).toEqual(['work/1', 'work/2'])
    await sleep(1_300)
    expect(resumes(server)).toHaveLength(1)
  })

  test('event ids are kept from the SDK otherwise', async () => {
    const [, client] = await start(line, { tools: { work: [out => out.result('done', 'work/2').end()] } })
    const tokens: string[] = []
    await client.call('work', { onresumptiontoken: token => tokens.push(token) })
    expect(tokens).toEqual([])
  })

  test.each([
    ['open and silent', [(out: Parameters<Leg>[0]) => void out.prime('work/1')]],
    ['between two legs', [(out: Parameters<Leg>[0]) => out.prime('work/1', 60_000).end()]],
    ['waiting for headers', [(out: Parameters<Leg>[0]) => out.prime('work/1', 100).end(), () => {}]],
  ] satisfies [string, Leg[]][])(
    'close() while a call is %s leaves no socket and no request',
    async (_, legs) => {
      const [server, client] = await start(line, { tools: { work: legs } })
      client.call('work', { timeout: 20_000 }).catch(() => {})
      await until(() => server.of('tools/call').length === 1)
      await sleep(400)
      await client.close()
      const before = server.requests.length
      await until(() => server.busy === 0)
      await sleep(300)
      expect(server.requests.length).toBe(before)
    },
  )
})
