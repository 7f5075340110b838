import { afterEach, describe, expect, test } from 'vitest'
import { AuthorizationServer } from './authorization-server.ts'
import { type ConnectOptions, connect, type Line, until, wrapped } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'
import { HostProvider } from './providers.ts'

// What becomes of a call, and of the standalone stream, whose resume the server refuses.

const LINES: Line[] = ['v1', 'v2']
const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

/** The first leg of a call, in which `happens`, and the one that ends it. */
const work = (happens: () => void): readonly Leg[] => [
  out => {
    happens()
    out.log('one', 'work/1').reset()
  },
  out => out.log('two', 'work/2').result('done', 'work/3').end(),
]

async function start(
  line: Line,
  options: ConnectOptions,
  script: (authorization: AuthorizationServer) => McpScript,
) {
  const authorization = await AuthorizationServer.start()
  const provider = new HostProvider(authorization)
  const server = await McpFaultServer.start({ guard: authorization.guard, ...script(authorization) })
  const client = await connect(line, server.url, { ...options, authProvider: provider })
  open.push(server, authorization, client)
  // The SDK asks for the standalone stream at its leisure.
  await until(() => server.of('GET').length > 0)
  /** What each resume of the call was let in with, and how it was answered. */
  const resumes = () =>
    server
      .of('GET')
      .filter(({ headers }) => String(headers['last-event-id']).startsWith('work/'))
      .map(({ headers, refused }) => [headers.authorization, refused])
  return { authorization, provider, server, client, resumes }
}

const expiresMeanwhile = (authorization: AuthorizationServer): McpScript => ({
  tools: { work: work(() => authorization.expireAll()) },
})

const listenersNeedMore = (authorization: AuthorizationServer): McpScript => ({
  tools: {
    work: work(() => {
      authorization.scopeFor = ({ method }) => (method === 'GET' ? 'mcp listen' : 'mcp')
    }),
  },
})

const TIMED_OUT = { message: expect.stringMatching(/timed out/i) }

const unauthorized = (status: number) => ({
  code: -32_000,
  data: { sent: 'unknown', reason: 'unauthorized', lastEventId: 'work/1', status },
})

describe.each(LINES)('%s: a call whose resume is refused', line => {
  test('a second time, with the new token, is settled', async () => {
    const { client, server, authorization, resumes } = await start(line, wrapped(), expiresMeanwhile)
    authorization.mode = 'never-content'
    await expect(client.call('work', { timeout: 20_000 })).rejects.toMatchObject(unauthorized(401))
    expect(resumes()).toEqual([
      ['Bearer access-1', 401],
      ['Bearer access-2', 401],
    ])
    expect(authorization.refreshes).toEqual(['refresh-1'])
    expect(server.of('tools/call')).toHaveLength(1)
  })

  test('and for which the user has to log in is settled; the next call works when that is done', async () => {
    const { client, authorization, provider, resumes } = await start(line, wrapped(), expiresMeanwhile)
    authorization.forgetRefreshTokens()
    await expect(client.call('work', { timeout: 20_000 })).rejects.toMatchObject(unauthorized(401))
    expect(resumes()).toEqual([['Bearer access-1', 401]])
    expect(provider.redirects).toHaveLength(1)
    // The SDK has understood `invalid_grant`.
    expect(provider.invalidated).toEqual(['tokens'])
    await client.finishAuth(await authorization.userAgrees(provider.redirects[0] as URL))
    expect(provider.tokens()?.access_token).toMatch(/^access-/)
    expect(await client.ping()).toBeDefined()
  })

  test.each<[string, (authorization: AuthorizationServer) => void]>([
    ['the user has to log in', authorization => authorization.forgetRefreshTokens()],
    [
      'the new token is refused, too',
      authorization => {
        authorization.mode = 'never-content'
      },
    ],
  ])('hangs with the SDK alone when %s', async (_, prepare) => {
    const { client, authorization } = await start(line, {}, expiresMeanwhile)
    prepare(authorization)
    await expect(client.call('work', { timeout: 6_000 })).rejects.toMatchObject(TIMED_OUT)
  })

  test('for its scope hangs with the SDK alone', async () => {
    const { client, provider } = await start(line, {}, listenersNeedMore)
    await expect(client.call('work', { timeout: 6_000 })).rejects.toMatchObject(TIMED_OUT)
    expect(provider.redirects.length > 0).toBe(line === 'v2')
  })

  test('for its scope is shown to the SDK, and settled when that gets no better token', async () => {
    const { client, server, provider, resumes } = await start(line, wrapped(), listenersNeedMore)
    await expect(client.call('work', { timeout: 20_000 })).rejects.toMatchObject(unauthorized(403))
    expect(resumes()).toEqual([['Bearer access-1', 403]])
    expect(server.of('tools/call')).toHaveLength(1)
    // Line 1 steps up for a POST only.
    const asked = provider.redirects.map(({ searchParams }) => searchParams.get('scope'))
    expect(asked).toEqual(line === 'v1' ? [] : ['mcp listen'])
  })

  test('for its scope says nothing about the token: when that expires, it is renewed', async () => {
    let calls = 0
    const { client, authorization, resumes } = await start(line, wrapped(), authorization => ({
      tools: {
        work: work(() => {
          if (++calls === 2) authorization.expireAll()
          authorization.scopeFor = ({ method }) => (method === 'GET' && calls === 1 ? 'mcp listen' : 'mcp')
        }),
      },
    }))
    await expect(client.call('work', { timeout: 20_000 })).rejects.toMatchObject(unauthorized(403))
    expect(await client.call('work', { timeout: 20_000 })).toBe('done')
    expect(authorization.refreshes).toEqual(['refresh-1'])
    expect(resumes().at(-1)).toEqual(['Bearer access-2', undefined])
  })
})

describe.each(LINES)('%s: the standalone stream that is refused', line => {
  const script = (authorization: AuthorizationServer): McpScript => ({
    standalone: [
      out => {
        authorization.expireAll()
        out.log('one', 's/1').reset()
      },
      out => void out.log('two', 's/2'),
    ],
  })

  test('goes on with a new token', async () => {
    const { client, authorization, server } = await start(line, wrapped(), script)
    await until(() => client.logs.length === 2)
    expect(client.logs).toEqual(['one', 'two'])
    expect(authorization.refreshes).toEqual(['refresh-1'])
    expect(server.of('GET').map(({ headers }) => [headers['last-event-id'], headers.authorization])).toEqual([
      [undefined, 'Bearer access-1'],
      ['s/1', 'Bearer access-1'],
      ['s/1', 'Bearer access-2'],
    ])
    expect(client.errors).toEqual([])
  })

  test('waits, without a request, until the user has logged in', async () => {
    const { client, authorization, provider, server } = await start(line, wrapped(), authorization => {
      authorization.forgetRefreshTokens()
      return script(authorization)
    })
    await until(() => provider.redirects.length === 1)
    await client.finishAuth(await authorization.userAgrees(provider.redirects[0] as URL))
    expect(server.of('GET')).toHaveLength(2)
    // The SDK shows its new token with the next message, whatever that is.
    await client.ping()
    await until(() => client.logs.length === 2)
    expect(client.logs).toEqual(['one', 'two'])
    const [, , third, ...others] = server.of('GET')
    expect(third?.headers).toMatchObject({
      'last-event-id': 's/1',
      authorization: `Bearer ${provider.tokens()?.access_token}`,
    })
    expect(others).toEqual([])
  })
})
