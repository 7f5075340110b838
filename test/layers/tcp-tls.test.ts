import { readFileSync } from 'node:fs'
import { createServer, type Server, TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { fetch } from 'undici'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DialAgent } from '../../src/dial-agent.ts'
import { type ResolvedTcp, TCP_DEFAULTS } from '../../src/layers/tcp.ts'

const pem = (part: string) =>
  readFileSync(fileURLToPath(new URL(`../fixtures/self-signed.${part}.pem`, import.meta.url)))

let server: Server
let origin: string
/** What the server saw of each handshake. */
let handshakes: { protocol: string | false | null; resumed: boolean }[]
/** undici holds its sessions weakly: without these a collection in the wrong moment would lose one. */
let sessions: unknown[]

beforeEach(async () => {
  handshakes = []
  sessions = []
  // The server's choice: HTTP/2 wherever it is offered.
  server = createServer({ key: pem('key'), cert: pem('cert'), ALPNProtocols: ['h2', 'http/1.1'] }, socket => {
    handshakes.push({ protocol: socket.alpnProtocol, resumed: socket.isSessionReused() })
    socket.on('error', () => {})
    if (socket.alpnProtocol === 'h2') socket.destroy()
    else socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  origin = `https://127.0.0.1:${(server.address() as { port: number }).port}`
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  // Node warns of that.
  vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { emit } = TLSSocket.prototype
  vi.spyOn(TLSSocket.prototype, 'emit').mockImplementation(function (this: TLSSocket, ...args: unknown[]) {
    if (args[0] === 'session') sessions.push(args[1])
    return (emit as (...args: unknown[]) => boolean).apply(this, args)
  })
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  server.close()
})

async function dial(options: Partial<ResolvedTcp> | false): Promise<void> {
  const agent = new DialAgent(options && { ...TCP_DEFAULTS, ...options })
  try {
    const response = await fetch(origin, { dispatcher: agent.for(origin) })
    await response.text()
  } catch {
    // HTTP/2 was agreed on, and the server speaks none.
  } finally {
    agent.destroy()
  }
}

test('HTTP/2 is not offered unless it was asked for, nor with layer 1 off', async () => {
  await dial({})
  await dial({ allowH2: true })
  await dial(false)
  expect(handshakes.map(({ protocol }) => protocol)).toEqual(['http/1.1', 'h2', 'http/1.1'])
})

test('a dial resumes the TLS session of the one before it, if their options are the same and plain', async () => {
  const connect = { family: 4 }
  const resumed = []
  for (const options of [{}, {}, { keepAliveDelayMs: 9_000 }, { connect }, { connect }] as const) {
    await dial(options)
    resumed.push(handshakes.at(-1)?.resumed)
  }
  expect(resumed).toEqual([false, true, false, false, false])
})
