import { DpopSession, withDpop } from '@modelcontextprotocol/client'
import { mcpFetch } from 'resilient-sse/mcp'
import { afterEach, describe, expect, test } from 'vitest'
import { AuthorizationServer } from './authorization-server.ts'
import { type ConnectOptions, connect, type Line, QUICK, until, wrapped } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'
import { HostProvider } from './providers.ts'

// Tokens that are bound to a key (RFC 9449): each request has a proof of its own, good for it alone and for one use.

const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

const work: readonly Leg[] = [
  out => out.log('one', 'work/1').reset(),
  out => out.log('two', 'work/2').reset(),
  out => out.log('three', 'work/3').result('done', 'work/4').end(),
]

/** The SDK's own support for DPoP, which line 2 has: the provider tells the key. */
class BoundProvider extends HostProvider {
  readonly #session: DpopSession

  constructor(server: AuthorizationServer, session: DpopSession) {
    super(server, server.issue({ isBound: true }))
    this.#session = session
  }

  dpop() {
    return this.#session
  }
}

/** Who signs: the SDK, by its provider; a fetch of the host's above this package; or one below it. */
type Signer = 'provider' | 'above' | 'below'

async function start(line: Line, signer: Signer, script: McpScript, ours = true) {
  const authorization = await AuthorizationServer.start()
  const server = await McpFaultServer.start({ guard: authorization.guard, tools: { work }, ...script })
  const session = await DpopSession.create()
  const provider = new BoundProvider(authorization, session)
  const signed = withDpop(session, () => provider.tokens()?.access_token)
  const options: Record<Signer, () => ConnectOptions> = {
    provider: () => ({ ...(ours ? wrapped() : {}), authProvider: provider }),
    above: () => ({ fetch: signed(mcpFetch({ backoff: QUICK.backoff })) as typeof fetch }),
    below: () => ({ fetch: mcpFetch({ fetch: signed(fetch) as typeof fetch, backoff: QUICK.backoff }) }),
  }
  const client = await connect(line, server.url, options[signer]())
  open.push(server, authorization, client)
  // The SDK asks for the standalone stream at its leisure.
  await until(() => server.of('GET').length > 0)
  const cursors = () => server.of('GET').map(({ headers }) => headers['last-event-id'])
  return { authorization, provider, server, client, cursors }
}

const SIGNERS: [Line, Signer][] = [
  ['v2', 'provider'],
  ['v1', 'above'],
  ['v2', 'above'],
  ['v1', 'below'],
  ['v2', 'below'],
]

describe.each(SIGNERS)('%s: what is signed (%s)', (line, signer) => {
  test('is signed anew for each leg of a call; no proof is used twice', async () => {
    const { client, server, authorization, cursors } = await start(line, signer, {})
    expect(await client.call('work', { timeout: 20_000 })).toBe('done')
    expect(client.logs).toEqual(['one', 'two', 'three'])
    expect(authorization.proofs.faults).toEqual([])
    expect(cursors().filter(cursor => cursor !== undefined)).toEqual(['work/1', 'work/2'])
    expect(server.of('tools/call')).toHaveLength(1)
    expect(client.errors).toEqual([])
  })

  test('is signed anew for each leg of the standalone stream', async () => {
    const { client, authorization, cursors } = await start(line, signer, {
      standalone: [
        out => out.comment().reset(),
        out => out.log('one', 's/1').reset(),
        out => void out.log('two', 's/2'),
      ],
    })
    await until(() => client.logs.length === 2)
    expect(cursors()).toEqual([undefined, undefined, 's/1'])
    expect(authorization.proofs.faults).toEqual([])
    expect(client.errors).toEqual([])
  })

  test('is signed with the nonce that the server wants meanwhile', async () => {
    const { client, server, authorization, cursors } = await start(line, signer, {
      tools: {
        work: [
          out => {
            authorization.proofs.nonce = 'fresh'
            out.log('one', 'work/1').reset()
          },
          out => out.result('done', 'work/2').end(),
        ],
      },
    })
    expect(await client.call('work', { timeout: 20_000 })).toBe('done')
    expect(authorization.proofs.faults).toEqual(['nonce'])
    expect(cursors().filter(cursor => cursor !== undefined)).toEqual(['work/1', 'work/1'])
    expect(server.of('tools/call')).toHaveLength(1)
    expect(client.errors).toEqual([])
  })
})

test('v2: a bound token that expired in an outage is renewed once, and each leg signed with the new one', async () => {
  const tools = Object.fromEntries(
    ['a', 'b', 'c'].map(tool => [
      tool,
      [
        out => void out.log(tool, `${tool}/1`),
        out => out.result(`${tool} done`, `${tool}/2`).end(),
      ] satisfies Leg[],
    ]),
  )
  const { client, server, authorization } = await start('v2', 'provider', { tools })
  const calls = ['a', 'b', 'c'].map(tool => client.call(tool, { timeout: 20_000 }))
  await until(() => client.logs.length === 3)
  authorization.expireAll()
  server.goAway()
  server.isAway = false
  expect(await Promise.all(calls)).toEqual(['a done', 'b done', 'c done'])
  expect(authorization.refreshes).toEqual(['refresh-1'])
  expect(authorization.proofs.faults).toEqual([])
  expect(client.errors).toEqual([])
})
