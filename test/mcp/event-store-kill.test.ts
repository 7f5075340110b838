import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { keepaliveFetch } from 'resilient-sse'
import { mcpFetch } from 'resilient-sse/mcp'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { seeded } from '../random.ts'
import { bundleServer, ServerProcess } from './server-process.ts'

// The example server, with its events in files, in a process of its own: killed with SIGKILL, and started again.

const KILLS = Number(process.env.KILLS ?? 3)
const SEED = Number(process.env.SEED ?? 1)
const ITEMS = 12
const draw = seeded(SEED)

const folder = mkdtempSync(join(tmpdir(), 'mcp-killed-'))
let bundle: string
let server: ServerProcess
const flags = ['--event-log', folder, '--retry-interval', '20']

beforeAll(async () => {
  bundle = await bundleServer()
  server = await ServerProcess.start(bundle, '--port', '0', ...flags, '--pause', '60')
})

afterAll(async () => {
  await server.kill()
  rmSync(folder, { recursive: true })
  rmSync(bundle)
})

interface Line {
  id: string
  streamId: string
  message: { method?: string; params?: { data: string }; result?: unknown }
}

/** What the file of a session holds of the stream of its last call. */
function stored(session: string): Line[] {
  const lines = readFileSync(join(folder, `${session}.events`), 'utf8')
    .split('\n')
    .slice(1, -1)
    .map(line => JSON.parse(line) as Line)
  return lines.filter(({ streamId }) => streamId === lines.at(-1)?.streamId)
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition(); waited++) {
    if (waited > 20_000) throw new Error('Not within 20 s')
    await new Promise(resolve => setTimeout(resolve, 1))
  }
}

/** A session, and what its host is told. Resumes wait for `mayResume`. */
async function connect(mayResume: Promise<void> = Promise.resolve()) {
  const heard: string[] = []
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  client.setNotificationHandler(
    'notifications/message',
    ({ params }) => void heard.push(params.data as string),
  )
  const connections = keepaliveFetch()
  const fetch = mcpFetch({
    backoff: { baseMs: 20, maxMs: 200, maxAttempts: 500 },
    fetch: async (input, init) => {
      if (new Headers(init?.headers).has('last-event-id')) await mayResume
      return connections(input, init)
    },
  })
  const transport = new StreamableHTTPClientTransport(new URL(server.url), { fetch })
  await client.connect(transport)
  const session = transport.sessionId as string
  const call = () =>
    client.callTool({ name: 'process_batch', arguments: { items: ITEMS, checkpoint_every: 2 } }).then(
      ({ content }) => ({ content }),
      ({ code, message }) => ({ code, message }),
    )
  return { transport, heard, session, call }
}

/** On the same port, with the same folder. */
async function restart(pause = '60'): Promise<void> {
  const { port } = new URL(server.url)
  await server.kill()
  server = await ServerProcess.start(bundle, '--port', port, ...flags, '--pause', pause)
}

const resume = (session: string, lastEventId = '00000000-1') =>
  fetch(server.url, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session, 'last-event-id': lastEventId },
  })

const RESTARTED = {
  code: -32_000,
  message: expect.stringContaining('The server was restarted during this call'),
}
const messages = (lines: Line[]) => lines.flatMap(({ message }) => message.params?.data ?? [])
const answer = (lines: Line[]) => lines.find(({ message }) => message.result)?.message.result

const kills = Array.from({ length: KILLS }, (_, index) => ({
  events: 3 + Math.floor(draw() * (ITEMS + 4)),
  // Half a line: what a process leaves that is killed inside write(2).
  torn: index % 2 === 1,
}))

describe('a server that is killed in a call and started again delivers what it had stored, once and in order,', () => {
  test.each(kills)(
    `seed ${SEED}: killed at $events events, with a torn line: $torn`,
    async ({ events, torn }) => {
      const { heard, session, call } = await connect()
      const outcome = call()
      await until(() => heard.length > 0 && stored(session).length >= events)
      await server.kill()
      const before = stored(session)
      if (torn) appendFileSync(join(folder, `${session}.events`), '{"id":"00000000-99","streamId":"')
      await restart()
      expect(await outcome).toEqual(answer(before) ?? RESTARTED)
      expect(heard).toEqual(messages(before))
      expect(server.errors).toBe('')
    },
  )

  test.each([
    ['at a checkpoint of the call, which it ends with an error', '60000', 4],
    ['after the call was done, and its answer had been sent to nobody', '60', 2 + ITEMS + (ITEMS - 2) / 2],
  ])('killed %s', async (_, pause, events) => {
    await restart(pause)
    let open = () => {}
    const { heard, session, call } = await connect(new Promise(resolve => (open = resolve)))
    const outcome = call()
    await until(() => stored(session).length >= events && heard.length === 2)
    await server.kill()
    const before = stored(session)
    expect(before).toHaveLength(events)
    await restart()
    open()
    expect(await outcome).toEqual(pause === '60' ? answer(before) : RESTARTED)
    expect(heard).toEqual(messages(before))
    expect(heard.length).toBeGreaterThan(2)
    // Who has everything is told that the session is lost.
    expect((await resume(session, stored(session).at(-1)?.id)).status).toBe(404)
  })
})

test.each(['v1', 'v2'] as const)(
  'the SDK alone, %s, is told that its call was lost by a restart',
  async line => {
    await restart('60000')
    const reconnectionOptions = {
      initialReconnectionDelay: 100,
      maxReconnectionDelay: 100,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 200,
    }
    const url = new URL(server.url)
    const transport =
      line === 'v1'
        ? new TransportV1(url, { reconnectionOptions })
        : new StreamableHTTPClientTransport(url, { reconnectionOptions })
    const client = new (line === 'v1' ? ClientV1 : Client)({ name: 'test', version: '1' })
    onTestFinished(() => client.close())
    let heard = 0
    client.fallbackNotificationHandler = async () => void heard++
    await client.connect(transport as StreamableHTTPClientTransport & TransportV1)
    const outcome = client
      .callTool({ name: 'process_batch', arguments: { items: 2, checkpoint_every: 1 } })
      .catch((error: Error) => error.message)
    await until(() => heard === 1 && stored(transport.sessionId as string).length === 3)
    await restart()
    expect(await outcome).toContain('The server was restarted during this call')
  },
)

describe('the folder', () => {
  const list = () => readdirSync(folder).sort()

  test('may hold an empty file and one of somebody else: that one is told of, and left as it is', async () => {
    const foreign = join(folder, 'foreign.events')
    writeFileSync(foreign, 'my notes')
    writeFileSync(join(folder, 'empty.events'), '')
    await restart()
    for (const session of ['foreign', 'empty', 'absent', '../server'])
      expect([session, (await resume(session)).status]).toEqual([session, 404])
    await until(() => server.errors !== '')
    expect(server.errors).toBe(`${foreign} is not a file of MCP events\n`)
    expect(readFileSync(foreign, 'utf8')).toBe('my notes')
    const { call } = await connect()
    expect(await call()).toHaveProperty('content')
  })

  test('loses the file of a session that its client ends', async () => {
    const { session, transport } = await connect()
    expect(list()).toContain(`${session}.events`)
    await transport.terminateSession()
    expect(list()).not.toContain(`${session}.events`)
  })

  test('belongs to one process: a second one does not start, and says why', async () => {
    const second = ServerProcess.start(bundle, '--port', '0', ...flags)
    await expect(second).rejects.toThrow(`${folder} is in use by process ${server.pid} on `)
    expect(list().filter(name => name.startsWith('owner'))).toEqual(['owner'])
  })

  test('is let go of by a server that ends in peace', async () => {
    await server.kill('SIGTERM')
    expect(list()).not.toContain('owner')
    await restart()
  })

  test('that cannot be written keeps the server from starting', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const start = ServerProcess.start(bundle, '--port', '0', '--event-log', join(file, 'folder'))
    await expect(start).rejects.toThrow('ENOTDIR')
  })
})
