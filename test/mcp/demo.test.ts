import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { LifecycleEvent } from 'resilient-sse'
import { mcpFetch } from 'resilient-sse/mcp'
import { describe, expect, onTestFinished, test } from 'vitest'
import { clientOptions, runClient } from '../../docs/examples/mcp/client.ts'
import { runDemo } from '../../docs/examples/mcp/demo.ts'
import { connect2026, startServer2026 } from '../../docs/examples/mcp/reconnect-2026.ts'
import { type RunningServer, serverOptions, startServer } from '../../docs/examples/mcp/server.ts'

/** The demonstration with these flags: its answer, and the lines that it printed. */
async function demo(...args: string[]): Promise<{ result: string; lines: string[] }> {
  const lines: string[] = []
  const result = await runDemo(args, line => lines.push(line))
  return { result, lines }
}

async function start(...args: string[]): Promise<RunningServer> {
  const server = await startServer(serverOptions(['--port', '0', ...args]))
  onTestFinished(() => server.close())
  return server
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition(); waited += 10) {
    if (waited > 10_000) throw new Error('Not within 10 s')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const fromServer = (lines: string[]) =>
  lines.flatMap(line => /^INFO +server: (.*)$/.exec(line)?.slice(1) ?? [])

/** What the tool says of a batch, in its order. */
function notifications(items: number, every: number, when = 'sent while no stream was open'): string[] {
  return Array.from({ length: items }, (_, index) => index + 1).flatMap(item => [
    `Processed item ${item} of ${items}`,
    ...(item % every === 0 && item < items ? [`Checkpoint at item ${item} of ${items}: ${when}`] : []),
  ])
}

describe('the demonstration', () => {
  test('prints the tools, everything that was said while no stream was open, and the result', async () => {
    const { result, lines } = await demo('--items', '5', '--checkpoint-every', '2')
    expect(result).toBe('Processed 5 items; checkpoints: 2')
    expect(lines[0]).toMatch(/^INFO {4}connected to http:\/\/127\.0\.0\.1:\d+\/mcp, protocol 2025-11-25$/)
    expect(lines[1]).toMatch(/^tool {4}process_batch: /)
    expect(fromServer(lines)).toEqual(notifications(5, 2))
    expect(lines.at(-1)).toBe(`result  ${result}`)
  })

  test('shows each close, wait, resume and replay with --log-level DEBUG', async () => {
    // A long pause: on a busy machine a poll may come late, and a stream that is not open is not closed.
    const flags = ['--items', '3', '--checkpoint-every', '1', '--pause', '1500', '--log-level', 'debug']
    const { lines } = await demo(...flags)
    const call = lines.filter(line => line.startsWith('DEBUG') && line.includes('tools/call'))
    const told = (pattern: RegExp) => call.filter(line => pattern.test(line)).length
    // The end of the last one may come after that of the client.
    expect(told(/: closed \(end\) after \d+ events$/)).toBeGreaterThanOrEqual(2)
    expect(told(/: waiting \d+ ms \(retry\)$/)).toBe(2)
    expect(told(/: resuming after \S+-\d+$/)).toBe(2)
    expect(told(/: resumed, replay follows$/)).toBe(2)
  })

  test('prints no log at all with --log-level ERROR', async () => {
    const { lines } = await demo('--items', '2', '--checkpoint-every', '1', '--log-level', 'ERROR')
    expect(lines.map(line => line.split(' ', 1)[0])).toEqual(['tool', 'result'])
  })

  test.each([
    ['--low-level'],
    ['--retry-interval', '0'],
    ['--retry-interval', '250', '--pause', '600'],
    // Of seven events the last five: however late the poll comes, the event before the checkpoint is there.
    ['--max-events-per-stream', '5'],
  ])('does the same with %s %s', async (...flags) => {
    const { lines, result } = await demo(...flags.filter(Boolean), '--items', '4', '--checkpoint-every', '2')
    expect(fromServer(lines)).toEqual(notifications(4, 2))
    expect(result).toBe('Processed 4 items; checkpoints: 1')
  })

  test.each([['--no-event-store'], ['--protocol-version=2025-06-18'], ['--low-level', '--no-event-store']])(
    'closes no stream, and answers all the same, with %s %s',
    async (...flags) => {
      const { lines } = await demo(
        ...flags.filter(Boolean),
        '--items',
        '4',
        '--checkpoint-every',
        '2',
        '--log-level',
        'DEBUG',
      )
      expect(fromServer(lines)).toEqual(notifications(4, 2, 'the stream stays open'))
      expect(lines.filter(line => line.includes('resuming after'))).toEqual([])
    },
  )
})

describe('flags', () => {
  test.each([
    [['--port', '70000'], '--port: 70000 is not a whole number from 0 to 65535'],
    [['--retry-interval', '-1'], /retry-interval/],
    [['--max-events-per-stream', '0'], '--max-events-per-stream: 0 is not a whole number from 1 to 1000000'],
    [
      ['--retry-interval', '500', '--pause', '500'],
      '--pause: 500 ms must be longer than --retry-interval, 500 ms',
    ],
    [['--verbose'], /--verbose.*; those of the server are --port, /],
  ])('of the server: %s is refused', (args, message) => {
    expect(() => serverOptions(args)).toThrow(message)
  })

  test.each([
    [['--url', 'localhost'], '--url: localhost is not an http(s) address'],
    [['--items', '0'], '--items: 0 is not a whole number from 1 to 10000'],
    [['--checkpoint-every', 'x'], '--checkpoint-every: x is not a whole number from 1 to 10000'],
    [['--log-level', 'LOUD'], '--log-level: LOUD is none of DEBUG, INFO, WARNING, ERROR'],
    [['--protocol-version', '2024'], /--protocol-version: 2024 is none of 2025-11-25, /],
  ])('of the client: %s is refused', (args, message) => {
    expect(() => clientOptions(args, () => {})).toThrow(message)
  })

  test('have defaults', () => {
    expect(serverOptions([])).toMatchObject({
      port: 3_000,
      retryIntervalMs: 100,
      maxEventsPerStream: 100,
      eventStore: true,
      lowLevel: false,
    })
    expect(clientOptions([], () => {})).toMatchObject({
      url: new URL('http://localhost:3000/mcp'),
      items: 10,
      checkpointEvery: 3,
      logLevel: 'INFO',
      protocolVersion: '2025-11-25',
    })
  })
})

describe('the server', () => {
  const statusFor = (url: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request(url, { method: 'POST', headers }, ({ statusCode }) => resolve(statusCode))
      asked.on('error', reject).end('{}')
    })

  test('answers a foreign Host or Origin with 403', async () => {
    const { url } = await start()
    expect(await statusFor(url, { host: 'attacker.example' })).toBe(403)
    expect(await statusFor(url, { host: 'localhost.attacker.example' })).toBe(403)
    expect(await statusFor(url, { origin: 'https://attacker.example' })).toBe(403)
    expect(await statusFor(url, { host: 'localhost:80', origin: 'http://localhost:5173' })).not.toBe(403)
  })

  test('is answered in turn by the client of another process or library: --url', async () => {
    const server = await start()
    const lines: string[] = []
    const options = clientOptions(['--url', server.url.replace('127.0.0.1', 'localhost')], line =>
      lines.push(line),
    )
    expect(await runClient(options)).toBe('Processed 10 items; checkpoints: 3')
  })

  test('may close the standalone stream: it is opened again, and what was said meanwhile arrives', async () => {
    const server = await start()
    const heard: unknown[] = []
    const events: LifecycleEvent[] = []
    const client = new Client({ name: 'test', version: '1' })
    onTestFinished(() => client.close())
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data))
    const fetch = mcpFetch({
      onLifecycle: (event, { kind }) => void (kind === 'standalone' && events.push(event)),
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { fetch }))
    await until(() => events.some(({ type }) => type === 'open'))
    await server.announce('one')
    await until(() => heard.length === 1)
    server.closeStandaloneStreams()
    await server.announce('two')
    await until(() => heard.length === 2)
    expect(heard).toEqual(['one', 'two'])
    expect(events.filter(({ type }) => type === 'open')).toHaveLength(2)
  })

  test('may be restarted: with --event-log the answer of a finished call survives it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-event-log-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const before = await startServer(serverOptions(['--port', '0', '--event-log', folder]))
    const events: LifecycleEvent[] = []
    const client = new Client({ name: 'test', version: '1' })
    onTestFinished(() => client.close())
    let waiting = false
    const fetch = mcpFetch({
      // Long enough for the server to finish the call, to end, and to be back.
      backoff: { baseMs: 3_000, jitter: 0, retry: 'floor' },
      onLifecycle: (event, { methods }) => {
        events.push(event)
        if (event.type === 'wait' && methods.includes('tools/call')) waiting = true
      },
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(before.url), { fetch }))
    const call = client.callTool({ name: 'process_batch', arguments: { items: 2, checkpoint_every: 1 } })
    await until(() => waiting)
    const stored = () =>
      readdirSync(folder)
        .map(file => readFileSync(join(folder, file), 'utf8'))
        .join()
    await until(() => stored().includes('Processed 2 items'))
    await before.close()
    const port = new URL(before.url).port
    await start('--port', port, '--event-log', folder)
    const { content } = await call
    expect(content).toEqual([{ type: 'text', text: 'Processed 2 items; checkpoints: 1' }])
  })
})

test('2026-07-28: a client with a stored DiscoverResult sends nothing before its first call', async () => {
  const server = await startServer2026()
  onTestFinished(async () => void (await server.close()))
  const store = new Map()
  const first = await connect2026(server.url, store)
  await first.close()
  expect(server.asked).toEqual(['server/discover'])
  server.asked.length = 0
  const second = await connect2026(server.url, store)
  onTestFinished(() => second.close())
  expect(server.asked).toEqual([])
  const { content } = await second.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
  expect(content).toEqual([{ type: 'text', text: '3' }])
  expect(server.asked).toEqual(['tools/call'])
})
