import { afterEach, describe, expect, test } from 'vitest'
import { AuthorizationServer } from './authorization-server.ts'
import { type ConnectOptions, connect, type Line, sleep, until, wrapped } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'
import { HostProvider } from './providers.ts'

// The token expires while the server is away: when it is back, the old one is refused.

const LINES: Line[] = ['v1', 'v2']
const TOOLS = ['a', 'b', 'c', 'd', 'e']
const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

/** A call whose answer is begun, and ends on the leg after that. */
const callOf = (tool: string): readonly Leg[] => [
  out => void out.log(`${tool} one`, `${tool}/1`),
  out => out.log(`${tool} two`, `${tool}/2`).result(`${tool} done`, `${tool}/3`).end(),
]

async function start(line: Line, options: ConnectOptions, script: McpScript = {}) {
  const authorization = await AuthorizationServer.start()
  const provider = new HostProvider(authorization)
  const tools = Object.fromEntries(TOOLS.map(tool => [tool, callOf(tool)]))
  const server = await McpFaultServer.start({ guard: authorization.guard, tools, ...script })
  const client = await connect(line, server.url, { ...options, authProvider: provider })
  open.push(server, authorization, client)
  // The SDK asks for the standalone stream at its leisure.
  await until(() => server.of('GET').length > 0)
  const outage = async () => {
    server.goAway()
    authorization.expireAll()
    await sleep(100)
    server.isAway = false
  }
  /** Where each GET wanted to go on, what it was let in with, and how it was answered. */
  const gets = () =>
    server
      .of('GET')
      .map(({ headers, refused }) => [headers['last-event-id'], headers.authorization, refused] as const)
  return { authorization, provider, server, client, outage, gets }
}

describe.each(LINES)('%s: a token that expires while the server is away', line => {
  test('is renewed once for a call and the standalone stream; nothing is lost or told twice', async () => {
    // Six refusals may fit into the outage, and an open breaker would have the standalone stream wait for half a minute.
    const { client, server, authorization, outage, gets } = await start(line, wrapped({ breaker: false }), {
      standalone: [out => void out.log('s one', 's/1'), out => void out.log('s two', 's/2')],
    })
    await until(() => client.logs.length === 1)
    const call = client.call('a', { timeout: 20_000 })
    await until(() => client.logs.length === 2)
    await outage()
    expect(await call).toBe('a done')
    await until(() => client.logs.length === 4)
    expect([...client.logs].sort()).toEqual(['a one', 'a two', 's one', 's two'])
    expect(authorization.refreshes).toEqual(['refresh-1'])
    expect(server.of('tools/call')).toHaveLength(1)
    expect(client.errors).toEqual([])
    const resumes = gets().filter(([cursor]) => cursor !== undefined)
    expect(resumes.filter(([, , refused]) => refused === undefined).sort()).toEqual([
      ['a/1', 'Bearer access-2', undefined],
      ['s/1', 'Bearer access-2', undefined],
    ])
  })

  test('is renewed once for many calls', async () => {
    const { client, server, authorization, outage, gets } = await start(line, wrapped())
    const calls = TOOLS.map(tool => client.call(tool, { timeout: 20_000 }))
    await until(() => client.logs.length === TOOLS.length)
    await outage()
    expect(await Promise.all(calls)).toEqual(TOOLS.map(tool => `${tool} done`))
    expect(authorization.refreshes).toEqual(['refresh-1'])
    expect(authorization.reused).toEqual([])
    expect(client.logs).toHaveLength(2 * TOOLS.length)
    expect(server.of('tools/call')).toHaveLength(TOOLS.length)
    expect(client.errors).toEqual([])
    // Each stream is refused once at most: the one that is first renews the token for all of them.
    const refused = gets().filter(([, , status]) => status === 401)
    expect(new Set(refused.map(([cursor]) => cursor)).size).toBe(refused.length)
    expect(refused.every(([, token]) => token === 'Bearer access-1')).toBe(true)
  })

  test('is renewed by the SDK alone once for each call, which uses a refresh token twice', async () => {
    const { client, authorization, provider, outage } = await start(line, {})
    const calls = TOOLS.map(tool => client.call(tool, { timeout: 6_000 }))
    const outcomes = Promise.allSettled(calls)
    await until(() => client.logs.length === TOOLS.length)
    await outage()
    const lost = (await outcomes).filter(({ status }) => status === 'rejected')
    expect(lost.length).toBeGreaterThan(0)
    expect(authorization.reused).toContain('refresh-1')
    // Which is what makes the user log in again.
    await until(() => provider.redirects.length > 0)
  })
})
