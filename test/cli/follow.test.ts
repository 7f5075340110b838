import { execFile, execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  answer,
  cut,
  end,
  event,
  FaultServer,
  heartbeats,
  rest,
  send,
  stay,
  wait,
} from 'resilient-sse/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cli, cli, hasControls } from './cli.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'resilient-sse-cli-'))
})
afterAll(() => rm(folder, { recursive: true }))

const datas = (server: FaultServer) => Array.from({ length: server.log.length }, (_, i) => server.log.at(i))
const lines = (text: string) => text.trimEnd().split('\n')

describe.concurrent('resilient-sse URL', () => {
  it('prints the data of each event once on stdout, and what happens on stderr, until a 204', async () => {
    await using server = await FaultServer.start({
      log: { count: 9, bytes: 15 },
      script: [[send(4), cut()], [answer(503)], [rest(), end()]],
      otherwise: [answer(204)],
    })
    const { code, stdout, stderr } = await cli(server.url)
    expect(lines(stdout)).toEqual(datas(server).map(({ data }) => data))
    expect(
      lines(stderr).map(line => line.split(/[:,]| in /, 1)[0]?.replace(/[\d.]+ m?s/, 'a while')),
    ).toEqual([
      'connected',
      'lost after a while',
      'again',
      'failed',
      'again',
      'connected again',
      'lost after a while',
      'again',
    ])
    expect(hasControls(stderr)).toBe(false)
    expect(code).toBe(0)
    expect(server.requests).toHaveLength(4)
    expect(server.requests[1]?.lastEventId).toBe(server.log.idAt(3))
  })

  it('sends what it is told to: method, headers, body, last event id', async () => {
    await using server = await FaultServer.start({ log: { count: 5 }, script: [[rest(), end()]] })
    const { code, stderr } = await cli(
      ...[server.url, '--data', '{"q":1}', '--last-event-id', String(server.log.idAt(1))],
      ...['--header', 'Content-Type: application/json', '--header', 'X-One:1', '--quiet'],
    )
    expect(code).toBe(0)
    expect(stderr).toBe('')
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      body: '{"q":1}',
      lastEventId: server.log.idAt(1),
      headers: { 'content-type': 'application/json', 'x-one': '1' },
      firstIndex: 2,
    })
  })

  it('--json, --event and --max: one object a line, of one type, so many', async () => {
    await using server = await FaultServer.start({
      log: { count: 5, event: 'tick', bytes: 30 },
      script: [[event({ data: 'hello\nyou' }), send(3), stay()]],
    })
    const { code, stdout } = await cli(server.url, '--json', '--event', 'tick', '--max', '2')
    expect(lines(stdout).map(line => JSON.parse(line))).toEqual(datas(server).slice(0, 2))
    expect(code).toBe(0)
    const untyped = await cli(server.url, '--json', '--event', 'message', '--timeout', '0.5')
    expect(untyped).toMatchObject({ code: 124, stdout: '' })
  })

  it('exits with 1 and the code of the error when the stream fails', async () => {
    await using server = await FaultServer.start({ otherwise: [answer(404)] })
    const { code, stdout, stderr } = await cli(server.url, '--quiet')
    expect(stderr).toBe(`resilient-sse: ${server.url} answered 404 (ERR_SSE_HTTP)\n`)
    expect(stdout).toBe('')
    expect(code).toBe(1)
  })

  it('notices silence after --heartbeat seconds', async () => {
    await using server = await FaultServer.start({ log: { count: 2 }, script: [[send(1), stay()]] })
    const { code, stderr } = await cli(server.url, '--heartbeat', '0.2', '--max', '2')
    expect(stderr).toContain('(ERR_SSE_HEARTBEAT)')
    expect(code).toBe(0)
  })

  it.for([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('after %s the next run goes on where --cursor stands', async ([signal, expected]) => {
    await using server = await FaultServer.start({ log: { count: 8 }, script: [[send(5), stay()]] })
    const cursor = join(folder, signal)
    const first = new Cli([server.url, '--cursor', cursor, '--json'])
    await first.until(() => lines(first.stdout).length === 5)
    const { code, stdout } = await first.kill(signal)
    expect(code).toBe(expected)
    const second = await cli(server.url, '--cursor', cursor, '--json', '--max', '3')
    expect(second.code).toBe(0)
    expect(lines(stdout + second.stdout).map(line => JSON.parse(line))).toEqual(datas(server))
  })

  it('after kill -9 the next run repeats one event at most and loses none', async () => {
    await using server = await FaultServer.start({
      log: { count: 2_000 },
      otherwise: [heartbeats({ everyMs: 50 }), rest(), stay()],
    })
    const cursor = join(folder, 'killed')
    let stdout = ''
    for (const atLine of [1, 40, 90]) {
      const run = new Cli([server.url, '--cursor', cursor, '--json'])
      await run.until(() => lines(run.stdout).length >= atLine)
      const killed = await run.kill('SIGKILL')
      expect(killed.signal).toBe('SIGKILL')
      const before = lines(stdout).at(-1)
      const [repeated, ...others] = lines(killed.stdout)
      stdout += repeated === before ? others.map(line => `${line}\n`).join('') : killed.stdout
    }
    const received = lines(stdout).map(line => JSON.parse(line))
    expect(received).toEqual(datas(server).slice(0, received.length))
  })

  it('refuses a cursor file that another run is using', async () => {
    await using server = await FaultServer.start({ log: { count: 1 } })
    const cursor = join(folder, 'shared')
    const first = new Cli([server.url, '--cursor', cursor])
    await first.until(() => first.stdout !== '')
    const second = await cli(server.url, '--cursor', cursor)
    expect(second.stderr).toMatch(/is in use by .* \(ERR_SSE_STORE\)/)
    expect(second.code).toBe(1)
    await first.kill('SIGINT')
  })

  it('ends quietly when the reader of stdout goes away', async () => {
    await using server = await FaultServer.start({
      log: { count: 50_000 },
      otherwise: [send(1), wait(300), rest(), stay()],
    })
    const run = new Cli([server.url, '--quiet'])
    await run.until(() => run.stdout !== '')
    run.child.stdout?.destroy()
    expect(await run.done).toMatchObject({ code: 0, stderr: '' })
  })

  it('goes through --proxy', async () => {
    await using server = await FaultServer.start({ log: { count: 1 } })
    const tunnels: string[] = []
    const proxy = await connectProxy(tunnels)
    const port = (proxy.address() as { port: number }).port
    const { code } = await cli(server.url, '--max', '1', '--proxy', `http://127.0.0.1:${port}`)
    proxy.close()
    // undici dials the proxy once more when a tunnel is given up; what counts is that nothing went past it.
    expect(new Set(tunnels)).toEqual(new Set([`127.0.0.1:${server.port}`]))
    expect(server.connections).toBe(tunnels.length)
    expect(code).toBe(0)
  })
})

// util-linux's script(1) is a terminal for whoever has it.
const hasTerminal = (() => {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
})()

describe.skipIf(!hasTerminal)('on a terminal', () => {
  const onTerminal = async (url: string, env: NodeJS.ProcessEnv = {}) => {
    const command = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
    const line = `"${process.execPath}" "${command}" "${url}" --max 1`
    const options = { env: { ...process.env, ...env }, encoding: 'utf8' } as const
    return (await promisify(execFile)('script', ['-qec', line, '/dev/null'], options)).stdout
  }

  it('spells out what would steer it, and has colours of its own unless NO_COLOR is set', async () => {
    const data = 'red \x1b[31m bell \x07 title \x1b]0;x\x07 c1 \x9b2J turned \u202e tab \t'
    await using server = await FaultServer.start({ log: { count: 0 }, otherwise: [event({ data }), stay()] })
    const coloured = await onTerminal(server.url, { NO_COLOR: '' })
    expect(coloured).toContain('\x1b[32mconnected')
    expect(coloured).toContain(
      'red \\u001b[31m bell \\u0007 title \\u001b]0;x\\u0007 c1 \\u009b2J turned \\u202e tab \t',
    )
    const plain = await onTerminal(server.url, { NO_COLOR: '1' })
    expect(plain).toContain('connected')
    expect(hasControls(plain.replace(/[\r\t]/g, ''))).toBe(false)
  })
})

/** The least that a forward proxy does: CONNECT. */
async function connectProxy(tunnels: string[]): Promise<Server> {
  const proxy = createServer(client => {
    client.once('data', head => {
      const [, target = ''] = /^CONNECT (\S+) /.exec(head.toString()) ?? []
      tunnels.push(target)
      const [host, port] = target.split(':')
      const upstream = connect(Number(port), host, () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n')
        client.pipe(upstream).pipe(client)
      })
      for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
      client.on('close', () => upstream.destroy())
    })
    client.on('error', () => {})
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  return proxy
}
