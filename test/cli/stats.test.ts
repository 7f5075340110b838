import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { answer, cut, end, event, FaultServer, rest, send, stay, wait } from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { COMMAND, cli, hasControls } from './cli.ts'

const QUICK = ['--backoff-base', '0.01', '--stats']

describe.concurrent('--stats', () => {
  it('is a line now and then where there is no terminal, and one at the end, whatever the server sends', async () => {
    const id = 'evil \x1b[2J\x9b\u202e豆腐'
    await using server = await FaultServer.start({
      log: { count: 9 },
      script: [[send(3), cut()], [answer(503)], [event({ id, data: 'x\x1b[31m' }), wait(700), end()]],
      otherwise: [answer(204)],
    })
    const { code, stderr } = await cli(server.url, ...QUICK, '--stats-every', '0.25', '--quiet')
    const lines = stderr.trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(2)
    for (const line of lines) expect(line).toMatch(/^stats: \w+.*, breaker closed$/)
    expect(lines.at(-1)).toMatch(
      /^stats: closed after [\d.]+ s: the server said so, events 4 \([\d.]+\/s\), /,
    )
    expect(lines.at(-1)).toMatch(/, reconnects 3 \(end 1, network 1, refused 1\), replayed 0, gaps 0, /)
    expect(lines.at(-1)).toContain('last id "evil \\u001b[2J')
    expect(stderr).not.toContain('\u202e')
    expect(hasControls(stderr)).toBe(false)
    expect(code).toBe(0)
  })

  it('ends with the error, after its own last line', async () => {
    await using server = await FaultServer.start({ otherwise: [answer(404)] })
    const { code, stderr } = await cli(server.url, ...QUICK, '--quiet')
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^stats: closed after [\d.]+ s: a final error, events 0 /),
      `resilient-sse: ${server.url} answered 404 (ERR_SSE_HTTP)`,
      '',
    ])
    expect(code).toBe(1)
  })
})

describe.concurrent('options of the layers', () => {
  it('--query-parameter, --is-next and --on-gap throw: a skipped id ends the stream with exit code 1', async () => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      otherwise: [event({ id: '7', data: 'a' }), event({ id: '9', data: 'b' }), stay()],
    })
    const args = [
      '--last-event-id',
      '6',
      '--query-parameter',
      'after',
      '--is-next',
      'decimal',
      '--on-gap',
      'throw',
    ]
    const { code, stdout, stderr } = await cli(server.url, ...args)
    expect(stdout).toBe('a\n')
    expect(stderr).toContain('(ERR_SSE_GAP)')
    expect(server.requests[0]).toMatchObject({ lastEventId: '6', url: expect.stringContaining('?after=6') })
    expect(code).toBe(1)
  })

  it('--no-dedupe and --no-resume: what is sent again is printed again', async () => {
    await using server = await FaultServer.start({
      log: { count: 2, bytes: 10 },
      script: [
        [rest(), cut()],
        [rest(), end()],
      ],
      otherwise: [answer(204)],
    })
    const { stdout } = await cli(server.url, '--no-dedupe', '--no-resume', '--no-backoff')
    const [first, second] = [server.log.at(0).data, server.log.at(1).data]
    expect(stdout).toBe(`${first}\n${second}\n`.repeat(2))
    expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual([undefined, undefined, undefined])
  })

  it('--max-attempts ends it, --no-breaker and all', async () => {
    await using server = await FaultServer.start({ otherwise: [answer(503)] })
    const { code, stderr } = await cli(
      server.url,
      '--max-attempts',
      '8',
      '--no-breaker',
      '--backoff-max',
      '0.01',
    )
    expect(server.requests).toHaveLength(8)
    expect(stderr).toMatch(/answered 503 \(ERR_SSE_HTTP\)\n$/)
    expect(code).toBe(1)
  })

  it('--resend: a POST is sent again', async () => {
    await using server = await FaultServer.start({
      log: { count: 4, bytes: 10 },
      script: [
        [send(2), cut()],
        [rest(), end()],
      ],
    })
    const post = [server.url, '--data', 'q', '--backoff-base', '0.01', '--max', '4']
    expect((await cli(...post, '--resend')).code).toBe(0)
    expect(server.requests.map(({ body }) => body)).toEqual(['q', 'q'])
  })
})

it('kill ends it although nobody reads its stdout any more', async () => {
  await using server = await FaultServer.start({ log: { count: 20_000 }, otherwise: [rest(), stay()] })
  const child = spawn(process.execPath, [COMMAND, server.url], { stdio: ['ignore', 'pipe', 'pipe'] })
  // Told on the way: the pipe is full by then, or soon.
  await once(child.stderr, 'data')
  await new Promise(resolve => setTimeout(resolve, 300))
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([143, null])
})

// util-linux's script(1) is a terminal for whoever has it.
const hasTerminal = (() => {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
})()

describe.skipIf(!hasTerminal)('--stats on a terminal', () => {
  const onTerminal = async (url: string, env: NodeJS.ProcessEnv = {}) => {
    const script = `stty cols 80 rows 24; "${process.execPath}" "${COMMAND}" "${url}" --stats --max 3 --backoff-base 0.01`
    const options = { env: { ...process.env, ...env }, encoding: 'utf8' } as const
    return (await promisify(execFile)('script', ['-qec', script, '/dev/null'], options)).stdout
  }
  const serve = () =>
    FaultServer.start({
      log: { count: 3, bytes: 10 },
      script: [[send(2), wait(250), cut()]],
      otherwise: [rest(), stay()],
    })

  it('is drawn in place below the events, and stays when it is over', async () => {
    await using server = await serve()
    const text = await onTerminal(server.url, { TERM: 'xterm', NO_COLOR: '1' })
    const screen = shown(text)
    expect(screen.filter(line => line.includes('events  ')).length).toBe(1)
    const at = screen.findIndex(line => line.startsWith('───'))
    const above = screen.slice(0, at)
    for (const index of [0, 1, 2]) expect(above).toContain(server.log.at(index).data)
    expect(screen[at + 1]).toMatch(/^○ closed after [\d.]+ s: stopped here {2}http/)
    expect(screen[at + 4]).toBe('  reconnects 1 · network 1')
    expect(screen.slice(at + 8)).toEqual([''])
    for (const line of screen.slice(at)) expect(line.length).toBeLessThan(80)
  })

  it('is lines on one that obeys no escape sequences', async () => {
    await using server = await serve()
    const text = await onTerminal(server.url, { TERM: 'dumb' })
    expect(hasControls(text.replaceAll('\r', ''))).toBe(false)
    expect(text).toMatch(/^stats: closed after /m)
  })
})

/** The lines of a terminal that knows what the live view uses: up, erase to the end of the line or of the screen. */
function shown(text: string): string[] {
  const lines = ['']
  let row = 0
  // Written as a letter, because patterns should not contain what cannot be seen.
  for (const [piece] of text.replaceAll('\x1b', '␛').matchAll(/␛\[(?:\d+A|K|J)|\r|\n|[^␛\r\n]+/g)) {
    if (/^␛\[\d+A$/.test(piece)) row -= Number.parseInt(piece.slice(2), 10)
    else if (piece === '␛[J') lines.splice(row, Number.POSITIVE_INFINITY, '')
    else if (piece === '\n') {
      row++
      if (lines.length === row) lines.push('')
    } else if (piece !== '\r' && piece !== '␛[K') lines[row] = piece
  }
  return lines
}
