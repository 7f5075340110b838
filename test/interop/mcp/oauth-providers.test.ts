import { generateKeyPairSync } from 'node:crypto'
import * as v2 from '@modelcontextprotocol/client'
import * as v1 from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { afterEach, describe, expect, test } from 'vitest'
import { AuthorizationServer } from './authorization-server.ts'
import { type ConnectOptions, connect, type Line, until, wrapped } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'
import { HostProvider } from './providers.ts'

// The providers that the SDKs bring, for programs without a user; and the steps that a user's provider takes.

const LINES: Line[] = ['v1', 'v2']
const SDK = { v1, v2 }
const open: AsyncDisposable[] = []
const keys = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const privateKey = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

async function start(
  line: Line,
  script: McpScript,
  providerOf: (authorization: AuthorizationServer) => object,
  options: ConnectOptions = wrapped(),
) {
  const authorization = await AuthorizationServer.start()
  const server = await McpFaultServer.start({ guard: authorization.guard, ...script })
  const client = await connect(line, server.url, { ...options, authProvider: providerOf(authorization) })
  open.push(server, authorization, client)
  // The SDK asks for the standalone stream at its leisure.
  await until(() => server.of('GET').length > 0)
  return { authorization, server, client }
}

const callOf = (tool: string): readonly Leg[] => [
  out => void out.log(`${tool} one`, `${tool}/1`),
  out => out.result(`${tool} done`, `${tool}/2`).end(),
]

const TOOLS = ['a', 'b', 'c']
const tools = Object.fromEntries(TOOLS.map(tool => [tool, callOf(tool)]))

describe.each(LINES)('%s: a program of its own', line => {
  const { ClientCredentialsProvider, PrivateKeyJwtProvider } = SDK[line]
  test.each<[string, (authorization: AuthorizationServer) => object]>([
    [
      'ClientCredentialsProvider',
      ({ issuer }) =>
        new ClientCredentialsProvider({ clientId: 'me', clientSecret: 'secret', expectedIssuer: issuer }),
    ],
    [
      'PrivateKeyJwtProvider',
      authorization => {
        authorization.clientKey = keys.publicKey
        const { issuer } = authorization
        return new PrivateKeyJwtProvider({
          clientId: 'me',
          privateKey,
          algorithm: 'RS256',
          expectedIssuer: issuer,
        })
      },
    ],
  ])('with %s fetches one token for all streams that an outage broke', async (_, providerOf) => {
    const { client, server, authorization } = await start(line, { tools }, providerOf)
    const calls = TOOLS.map(tool => client.call(tool, { timeout: 20_000 }))
    await until(() => client.logs.length === TOOLS.length)
    expect(authorization.of('/token')).toHaveLength(1)
    authorization.expireAll()
    server.goAway()
    server.isAway = false
    expect(await Promise.all(calls)).toEqual(TOOLS.map(tool => `${tool} done`))
    expect(authorization.of('/token', 'client_credentials')).toHaveLength(2)
    expect(server.of('tools/call')).toHaveLength(TOOLS.length)
    expect(client.errors).toEqual([])
  })
})

describe.each(LINES)('%s: a user who has to agree to more', line => {
  test.each([
    ['the SDK alone', {}],
    ['with mcpFetch', wrapped()],
  ])('is asked when a POST is answered 403, and the next call works (%s)', async (_, options) => {
    let provider!: HostProvider
    const script = { tools: { work: [(out => out.result().end()) satisfies Leg] } }
    const { client, server, authorization } = await start(
      line,
      script,
      authorization => {
        provider = new HostProvider(authorization)
        return provider
      },
      options,
    )
    // Line 1 tries to refresh first, and keeps the scope that it has.
    authorization.forgetRefreshTokens()
    authorization.scopeFor = ({ method }) => (method === 'POST' ? 'mcp write' : 'mcp')
    await expect(client.call('work')).rejects.toThrow('Unauthorized')
    const [link] = provider.redirects
    expect(link?.searchParams.get('scope')).toBe('mcp write')
    await client.finishAuth(await authorization.userAgrees(link as URL))
    expect(await client.call('work')).toBe('done')
    expect(server.of('tools/call').map(({ refused }) => refused)).toEqual([403, undefined])
  })
})

test('v2: a user is asked who has to agree to more for the standalone stream, which then goes on', async () => {
  let provider!: HostProvider
  const standalone: Leg[] = [
    out => {
      authorized.scopeFor = ({ method }) => (method === 'GET' ? 'mcp listen' : 'mcp')
      out.log('one', 's/1').reset()
    },
    out => void out.log('two', 's/2'),
  ]
  let authorized!: AuthorizationServer
  const { client, server } = await start('v2', { standalone }, authorization => {
    authorized = authorization
    provider = new HostProvider(authorization)
    return provider
  })
  await until(() => provider.redirects.length === 1)
  await client.finishAuth(await authorized.userAgrees(provider.redirects[0] as URL))
  await client.ping()
  await until(() => client.logs.length === 2)
  expect(client.logs).toEqual(['one', 'two'])
  expect(server.of('GET').map(({ refused }) => refused)).toEqual([undefined, 403, undefined])
  expect(provider.redirects).toHaveLength(1)
})
