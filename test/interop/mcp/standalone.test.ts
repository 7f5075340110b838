import type { LifecycleEvent } from 'resilient-sse'
import type { McpFetchOptions } from 'resilient-sse/mcp'
import { afterEach, describe, expect, test } from 'vitest'
import { connect, type Line, sleep, type TestClient, until, wrapped } from './clients.ts'
import { type Leg, type LegWriter, McpFaultServer, type McpScript } from './fault-server.ts'

// The stream of what a server sends on its own account: GET, opened by the SDK after the handshake.

const LINES: Line[] = ['v1', 'v2']
const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

async function start(line: Line, script: McpScript, how: 'bare' | McpFetchOptions = {}) {
  const events: LifecycleEvent[] = []
  const server = await McpFaultServer.start(script)
  open.push(server)
  const onLifecycle = (event: LifecycleEvent) => void events.push(event)
  const client: TestClient = await connect(
    line,
    server.url,
    how === 'bare' ? {} : wrapped({ onLifecycle, ...how }),
  )
  open.push(client)
  const gets = () => server.of('GET')
  const cursors = () => gets().map(({ headers }) => headers['last-event-id'])
  return { server, client, events, gets, cursors }
}

const stays: Leg = out => void out.open()

describe.each(LINES)('%s: the standalone stream', line => {
  test('that breaks is resumed: nothing is lost or told twice', async () => {
    const { client, cursors } = await start(line, {
      standalone: [
        out => out.log('one', 'a/1').log('two', 'a/2').reset(),
        out => void out.log('two', 'a/2').log('three', 'a/3'),
      ],
    })
    await until(() => client.logs.length >= 3)
    expect(client.logs).toEqual(['one', 'two', 'three'])
    expect(cursors()).toEqual([undefined, 'a/2'])
    expect(client.errors).toEqual([])
  })

  test('that breaks tells the SDK alone of an error', async () => {
    const { client } = await start(
      line,
      { standalone: [out => out.log('one', 'a/1').reset(), stays] },
      'bare',
    )
    await until(() => client.errors.length > 0)
  })

  test('that closes at once is reopened ever more slowly, where the SDK alone asks in a loop', async () => {
    const flapping: McpScript = { standalone: [out => out.raw('retry: 50\n\n').end()] }
    const bare = await start(line, flapping, 'bare')
    const survivor = await start(line, flapping, {
      backoff: {},
      breaker: { threshold: 3, cooldownMs: 60_000 },
    })
    const circuits = () => survivor.events.filter(({ type }) => type === 'circuit')
    await until(() => bare.gets().length > 20 && circuits().length > 0)
    // The next one is due in a minute.
    expect(survivor.gets()).toHaveLength(3)
    expect(circuits()).toMatchObject([{ state: 'open' }])
    expect(survivor.client.errors).toEqual([])
  })

  test('never ends by itself: the breaker opens, probes, and closes when the server is back', async () => {
    const { client, events, gets } = await start(
      line,
      {
        standalone: [
          out => out.log('one', 'a/1').end(),
          ...Array<Leg>(4).fill(out => out.answer(503)),
          out => void out.log('two', 'a/2'),
        ],
      },
      { breaker: { threshold: 3, cooldownMs: 100 } },
    )
    await until(() => client.logs.length === 2)
    expect(client.logs).toEqual(['one', 'two'])
    expect(gets()).toHaveLength(6)
    const states = events.flatMap(event => (event.type === 'circuit' ? [event.state] : []))
    expect(states.slice(0, 2)).toEqual(['open', 'half-open'])
    expect(states.at(-1)).toBe('closed')
    expect(client.errors).toEqual([])
  })

  test.each([
    ['is answered 503', (out: LegWriter) => out.answer(503)],
    ['breaks before the headers', (out: LegWriter) => out.drop()],
  ])(
    'that %s when it is opened first is opened again, where the SDK alone does without it',
    async (_, away) => {
      const script: McpScript = { standalone: [away, away, out => void out.log('one', 'a/1')] }
      const bare = await start(line, script, 'bare')
      await until(() => bare.client.errors.length > 0)
      const { client, gets } = await start(line, script)
      await until(() => client.logs.length === 1)
      expect(gets().length).toBeGreaterThanOrEqual(3)
      expect(client.errors).toEqual([])
      expect(bare.client.logs).toEqual([])
    },
  )

  test('that is away when it is opened first, and then not offered, is left alone', async () => {
    const { client, gets } = await start(line, {
      standalone: [out => out.answer(503), out => out.answer(405)],
    })
    await until(() => gets().length === 2)
    await sleep(2_500)
    // What the SDK asks for after that is answered here.
    expect(gets()).toHaveLength(2)
    expect(client.errors).toEqual([])
  })

  test('that is not offered is left alone: 405', async () => {
    const { client, gets } = await start(line, {})
    await sleep(300)
    expect(gets()).toHaveLength(1)
    expect(client.errors).toEqual([])
  })

  test('in whose place a page stands is not offered, where the SDK alone takes it for a stream', async () => {
    const page: McpScript = {
      standalone: [out => out.answer(200, '<p>hello</p>', { 'content-type': 'text/html' })],
    }
    const bare = await start(line, page, 'bare')
    const survivor = await start(line, page)
    await until(() => bare.gets().length >= 2)
    expect(survivor.gets()).toHaveLength(1)
    expect(survivor.client.errors).toEqual([])
  })

  test.each([404, 410])('ends when the session is lost: %s', async status => {
    const { events, gets, client } = await start(line, {
      standalone: [out => out.log('one', 'a/1').end(), out => out.answer(status)],
    })
    await until(() => events.some(({ type }) => type === 'close'))
    const close = events.find(event => event.type === 'close')
    expect(close).toMatchObject({ reason: 'error', error: { code: 'ERR_SSE_HTTP', status } })
    await sleep(2_500)
    // What the SDK asks for after that is answered here.
    expect(gets()).toHaveLength(2)
    expect(client.errors).toEqual([])
  })

  test('that is resumed and brings nothing but comments is a zombie: reopened without cursor, with a gap', async () => {
    const zombie: Leg = async out => {
      for (let count = 0; count < 20 && !out.seen.aborted; count++) {
        out.comment()
        await out.pause(30)
      }
    }
    const { client, cursors, events } = await start(line, {
      standalone: [
        out => out.log('one', 'a/1').end(),
        zombie,
        // A server that was only quiet: what it says while nobody listens is asked for again.
        async out => {
          out.open()
          await out.pause(200)
          out.end()
        },
        out => void out.log('two', 'b/1'),
      ],
    })
    await until(() => client.logs.length === 2)
    expect(cursors()).toEqual([undefined, 'a/1', undefined, 'a/1'])
    expect(events.filter(({ type }) => type === 'gap')).toMatchObject([
      { reason: 'cursor-ignored', after: 'a/1' },
    ])
    expect(client.errors).toEqual([])
  })

  test('whose cursor is refused goes on without it, with a gap', async () => {
    const { client, cursors, events } = await start(line, {
      standalone: [
        out => out.log('one', 'a/1').end(),
        out => out.answer(400),
        out => void out.log('two', 'b/1'),
      ],
    })
    await until(() => client.logs.length === 2)
    expect(cursors()).toEqual([undefined, 'a/1', undefined])
    expect(events.filter(({ type }) => type === 'gap')).toMatchObject([{ after: 'a/1' }])
  })

  test('that was never resumed may bring nothing but comments', async () => {
    const quiet: Leg = async out => {
      for (let count = 0; count < 8; count++) {
        out.comment()
        await out.pause(30)
      }
    }
    const { gets, events } = await start(line, { standalone: [quiet] })
    await sleep(400)
    expect(gets()).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'gap')).toEqual([])
  })

  test('does not outlive close()', async () => {
    const { server, client, gets } = await start(line, {
      standalone: [out => out.log('one', 'a/1').end(), stays],
    })
    await until(() => gets().length === 2)
    await client.close()
    await until(() => server.busy === 0)
    await sleep(200)
    expect(gets()).toHaveLength(2)
    expect(client.errors).toEqual([])
  })
})
