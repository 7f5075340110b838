import { FaultServer, rest, stay } from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { dial, until } from '../testing/client.ts'
import { Cli, cli, hasControls } from './cli.ts'

describe.concurrent('resilient-sse chaos', () => {
  it('puts a relay before a server, tells each strike, and ends cleanly on Ctrl-C', async () => {
    await using server = await FaultServer.start({ log: { count: 50 }, otherwise: [rest(), stay()] })
    const faults = 'reset:afterBytes=1234,stall:afterBytes=500..600:ms=9'
    const run = new Cli(['chaos', server.url, '--faults', faults, '--rounds', '1', '--seed', '3'])
    await run.until(() => run.stdout.includes('Ctrl-C ends it.'))
    const [url = ''] = run.stdout.split('\n')
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/events$/)
    const port = Number(new URL(url).port)
    const first = dial(port)
    await until(() => first.text.length >= 500)
    await run.until(() => / connection 1, after /.test(run.stdout))
    const second = dial(port)
    await run.until(() => / connection 2, after /.test(run.stdout))
    const third = dial(port)
    await until(() => third.text.includes(server.log.idAt(49) ?? '?'))
    expect(run.stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}connection [12], after 1,234 bytes: reset$/m)
    expect(run.stdout).toMatch(/^\S+ {2}connection [12], after 5\d\d bytes: stall, 9 ms$/m)
    expect(run.stdout.trimEnd().split('\n')).toHaveLength(5)
    const { code, stderr } = await run.kill('SIGINT')
    expect([code, stderr, hasControls(run.stdout)]).toEqual([130, '', false])
    await Promise.all([first, second, third].map(({ closed }) => closed))
    await until(() => server.openSockets === 0)
  })

  it('needs no faults to be named, and goes on when the target is not there', async () => {
    const run = new Cli(['chaos', '127.0.0.1:9', '--port', '0'])
    await run.until(() => run.stdout.includes('seed 1'))
    const [url = ''] = run.stdout.split('\n')
    const got = dial(Number(new URL(url).port))
    await got.closed
    await run.until(() => run.stdout.includes('connection 1, after 0 bytes: unreachable, ECONNREFUSED'))
    expect((await run.kill('SIGTERM')).code).toBe(143)
  })

  it.for([
    [[], 'chaos: the target is missing'],
    [['a:1', 'b:2'], 'chaos: one target only: "b:2" is too much'],
    [['example'], '--target: expected an http or https URL, or host:port'],
    [['a:1', '--faults', 'reset,rain'], '--faults: "rain": do: expected one of reset, cut'],
    [['a:1', '--faults', 'stall:ms=soon'], '--faults: "stall:ms=soon": ms: expected milliseconds from 0'],
    [['a:1', '--faults', 'drip:bytes=5..1'], '--faults: "drip:bytes=5..1": bytes: expected an integer'],
    [['a:1', '--port', '70000'], '--port: "70000" is not an integer from 0 to 65535'],
    [['a:1', '--rounds', 'x'], '--rounds: "x" is not an integer'],
    [['a:1', '--seed', '-1'], '--seed'],
    [['a:1', '--speed', '1'], "Unknown option '--speed'"],
  ] as const)('refuses %j in one line', async ([args, message]) => {
    const { code, stdout, stderr } = await cli('chaos', ...args)
    expect(stderr).toContain(message)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stderr).toMatch(/; see resilient-sse chaos --help\n$/)
    expect([code, stdout]).toEqual([2, ''])
  })

  it('says when the port is taken', async () => {
    await using server = await FaultServer.start()
    const { code, stderr } = await cli('chaos', server.url, '--port', String(server.port))
    expect(stderr).toMatch(/^resilient-sse: .*EADDRINUSE.*\n$/)
    expect(code).toBe(1)
  })

  it('explains itself in 80 columns', async () => {
    const { code, stdout } = await cli('chaos', '--help')
    expect(stdout).toContain('Exit codes:')
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
    expect(code).toBe(0)
  })
})
