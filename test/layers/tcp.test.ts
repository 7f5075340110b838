import { createServer, type Server, Socket } from 'node:net'
import { Agent, Client, EnvHttpProxyAgent, fetch, ProxyAgent, request } from 'undici'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { DialAgent } from '../../src/dial-agent.ts'
import { checkDispatcher, pooledDispatcher, type ResolvedTcp, TCP_DEFAULTS } from '../../src/layers/tcp.ts'

const resolved = (options: Partial<ResolvedTcp> = {}) => ({ ...TCP_DEFAULTS, ...options })
const agentFor = (options: ResolvedTcp | false, origin = new URL(url).origin) =>
  new DialAgent(options).for(origin)

let server: Server
let url: string
let sockets: Set<Socket>
let requests: string[]
/** What the client did to its sockets, in order. */
let calls: string[]

beforeEach(async () => {
  sockets = new Set()
  requests = []
  calls = []
  server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', data => {
      requests.push(String(data).split('\r\n', 1)[0] as string)
      // As a proxy it refuses: to be asked is enough.
      if (requests.at(-1)?.startsWith('CONNECT'))
        socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
  const { setKeepAlive, setNoDelay } = Socket.prototype
  vi.spyOn(Socket.prototype, 'setKeepAlive').mockImplementation(function (this: Socket, ...args) {
    calls.push(`setKeepAlive ${args.join(' ')}`)
    return setKeepAlive.apply(this, args)
  })
  vi.spyOn(Socket.prototype, 'setNoDelay').mockImplementation(function (this: Socket, ...args) {
    calls.push(`setNoDelay ${args.join(' ')}`)
    return setNoDelay.apply(this, args)
  })
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  for (const socket of sockets) socket.destroy()
  server.close()
})

async function get(options: Partial<ResolvedTcp> | false): Promise<string> {
  const dispatcher = agentFor(options && resolved(options))
  const response = await fetch(url, { dispatcher })
  return response.text()
}

describe('a connection', () => {
  test('has TCP keepalive after 15 s of idleness, by default', async () => {
    expect(await get({})).toBe('ok')
    expect(calls).toContain('setKeepAlive true 15000')
  })

  test('has it after as long as was asked for', async () => {
    await get({ keepAliveDelayMs: 5_000 })
    expect(calls).toContain('setKeepAlive true 5000')
  })

  test('has none when layer 1 is off', async () => {
    await get(false)
    expect(calls.filter(call => call.startsWith('setKeepAlive true'))).toEqual([])
    expect(calls).not.toContain('setNoDelay false')
  })

  test('sends at once, unless told otherwise', async () => {
    await get({ connect: { family: 4 } })
    expect(calls.filter(call => call === 'setNoDelay false')).toEqual([])
    await get({ noDelay: false })
    expect(calls.at(-1)).toBe('setNoDelay false')
  })

  test('that is refused is told as refused, with whatever options', async () => {
    server.close()
    const error = await get({ noDelay: false }).catch(error => error)
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('is a new one for each dial, also while the last answer is still open', async () => {
    await Promise.all([get({}), get({})])
    await get({})
    expect(sockets.size).toBe(3)
  })

  test('takes more options of net.connect, which win over ours', async () => {
    await get({ connect: { localAddress: '127.0.0.2', keepAliveInitialDelay: 7_000 } })
    expect([...sockets][0]?.remoteAddress).toBe('127.0.0.2')
    expect(calls).toContain('setKeepAlive true 7000')
  })

  test('that cannot be made is given up after connectTimeoutMs', async () => {
    const connect = { lookup: () => {} }
    const dispatcher = agentFor(resolved({ connectTimeoutMs: 200, connect }), 'http://nowhere.test')
    const started = performance.now()
    await expect(request('http://nowhere.test/', { dispatcher })).rejects.toMatchObject({
      code: 'UND_ERR_CONNECT_TIMEOUT',
    })
    // undici's clock of half a second decides.
    expect(performance.now() - started).toBeLessThan(1_900)
  })
})

describe('an agent', () => {
  test('belongs to one dial, and leaves nothing when that is over, not even a connect under way', async () => {
    const agent = new DialAgent(resolved({ connect: { lookup: () => {} } }))
    const asked = request('http://nowhere.test/', { dispatcher: agent.for('http://nowhere.test') }).catch(
      error => error,
    )
    const turn = () => new Promise(resolve => setTimeout(resolve, 20))
    const connecting = () => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
    await turn()
    const before = connecting()
    agent.destroy()
    expect(await asked).toBeInstanceOf(Error)
    await turn()
    expect(connecting()).toBe(before - 1)
  })

  test('goes through a proxy, with keepalive on that hop', async () => {
    const proxied = agentFor(resolved({ proxy: url }))
    expect(proxied).toBeInstanceOf(ProxyAgent)
    await request('http://events.test/feed', { dispatcher: proxied }).catch(() => {})
    expect(requests[0]).toBe('CONNECT events.test:80 HTTP/1.1')
    expect(calls).toContain('setKeepAlive true 15000')
  })

  test('leaves nothing behind at a proxy either', async () => {
    const agent = new DialAgent(resolved({ proxy: url }))
    const dispatcher = agent.for('http://events.test')
    await request('http://events.test/feed', { dispatcher }).catch(() => {})
    agent.destroy()
    expect(dispatcher).toMatchObject({ destroyed: true })
  })

  test("goes through the environment's proxy with proxy: 'env'", async () => {
    vi.stubEnv('HTTP_PROXY', url)
    vi.stubEnv('http_proxy', url)
    vi.stubEnv('NO_PROXY', 'direct.test')
    vi.stubEnv('no_proxy', 'direct.test')
    const dispatcher = agentFor(resolved({ proxy: 'env', connectTimeoutMs: 1_001 }))
    expect(dispatcher).toBeInstanceOf(EnvHttpProxyAgent)
    await request('http://events.test/feed', { dispatcher }).catch(() => {})
    expect(requests[0]).toBe('CONNECT events.test:80 HTTP/1.1')
  })

  test('goes there also with NODE_USE_ENV_PROXY=1, and with nothing of the kind goes directly', () => {
    expect(agentFor(resolved({ connectTimeoutMs: 1_002 }))).toBeInstanceOf(Client)
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    expect(agentFor(resolved({ connectTimeoutMs: 1_002 }))).toBeInstanceOf(EnvHttpProxyAgent)
  })
})

test('a dispatcher for many requests keeps its connection for the next one, with keepalive', async () => {
  const dispatcher = pooledDispatcher(resolved())
  for (const path of ['first', 'second']) {
    const response = await fetch(url + path, { dispatcher })
    expect(await response.text()).toBe('ok')
    // undici takes a connection back in the turn after its answer.
    await new Promise(setImmediate)
  }
  expect(sockets.size).toBe(1)
  expect(calls).toContain('setKeepAlive true 15000')
  await dispatcher.close()
})

describe('a dispatcher of the user’s own', () => {
  test('is one of undici 7, of any kind', () => {
    expect(() => checkDispatcher(new Agent())).not.toThrow()
    expect(() => checkDispatcher(new ProxyAgent('http://127.0.0.1:9'))).not.toThrow()
  })

  test.each([[{}], [{ dispatch() {} }], [null], [undefined], ['x'], [() => {}]])('is not %s', dispatcher => {
    expect(() => checkDispatcher(dispatcher)).toThrow(
      expect.objectContaining({
        code: 'ERR_SSE_OPTION',
        message: expect.stringMatching(/^dispatcher: not a dispatcher of undici 7; make it from .* exports$/),
      }),
    )
  })
})
