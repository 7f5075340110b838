import { ResilientSse } from 'resilient-sse'
import { eventLog } from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { Cli, cli, hasControls } from './cli.ts'

interface Row {
  fault: string
  atEvent?: number
  noticedBy: string[]
  noticedAfterMs?: number
  recoveredAfterMs?: number
  lost: number
  doubled: number
}

const row = (rows: Row[], name: string): Row => {
  const found = rows.find(({ fault }) => fault.includes(name))
  if (found === undefined) throw new Error(`no row for ${name}`)
  return found
}

// Most of it is waiting, but a busy machine may need more than the usual 30 s.
describe.concurrent('the demo', { timeout: 60_000 }, () => {
  it('survives every kind of fault and says who noticed each', async () => {
    // Without layer 4 nothing is waited for: 9 s instead of 30.
    const { code, stdout, stderr } = await cli('demo', '--events', '400', '--without', 'backoff', '--json')
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ ok: true, received: 400, lost: 0, doubled: 0, altered: 0, disordered: 0 })
    expect(report.beside).toEqual({ received: report.beside.sent, sent: 5 })
    const rows: Row[] = report.rows
    expect(rows.length).toBeGreaterThanOrEqual(40)
    for (const one of rows) {
      expect(one).toMatchObject({ lost: 0, doubled: 0 })
      expect(one.noticedBy, one.fault).not.toEqual([])
      expect(one.recoveredAfterMs, one.fault).toBeGreaterThanOrEqual(one.noticedAfterMs ?? Infinity)
    }
    expect(row(rows, 'connection reset').noticedBy).toEqual(['tcp'])
    expect(row(rows, 'silence, socket open')).toMatchObject({ noticedBy: ['heartbeat'] })
    expect(row(rows, 'silence, socket open').noticedAfterMs).toBeGreaterThanOrEqual(950)
    expect(row(rows, 'circuit opens').noticedBy).toEqual(['http', 'breaker'])
    expect(row(rows, 'overlap').noticedBy).toEqual(['dedupe'])
    expect(row(rows, '200 with an HTML page').noticedBy).toEqual(['http'])
    expect(hasControls(stderr)).toBe(false)
    expect(stderr.trim().split('\n').at(-1)).toMatch(/^400 of 400 events, \d+ of \d+ faults survived$/)
    expect(code).toBe(0)
  })

  it('waits as the server asks, in both forms of Retry-After', async () => {
    const { code, stdout } = await cli('demo', '--events', '400', '--only', 'Retry-After', '--json')
    const rows: Row[] = JSON.parse(stdout).rows
    expect(row(rows, 'Retry-After: 1').recoveredAfterMs).toBeGreaterThanOrEqual(995)
    // Whole seconds, two ahead of a moment that has passed a little.
    expect(row(rows, 'a date').recoveredAfterMs).toBeGreaterThan(800)
    expect(code).toBe(0)
  })

  it('exits with 1 and names the fault when events come twice', async () => {
    const { code, stdout } = await cli('demo', '--events', '400', '--only', 'overlap', '--without', 'dedupe')
    expect(stdout).toMatch(/^an overlap replayed +\d+ nobody +— +\d+ ms +0 +[1-9]\d*$/m)
    expect(stdout).toMatch(/^0 lost, [1-9]\d* doubled, 0 altered, 0 out of order\.$/m)
    expect(code).toBe(1)
  })

  it('exits with 1 when the stream does not get to its end', async () => {
    const args = ['--events', '400', '--only', 'headers, then nothing', '--without', 'heartbeat']
    const { code, stdout } = await cli('demo', ...args)
    expect(stdout).toMatch(/^headers, then nothing +\d+ nobody +— +never +[1-9]\d* +0$/m)
    expect(stdout).toContain('The stream did not get to its end')
    expect(code).toBe(1)
  })

  it('shows a table that fits 80 columns, without control characters in a pipe', async () => {
    const { code, stdout, stderr } = await cli('demo', '--events', '1000', '--only', 'cut', '--seed', '3')
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThan(80)
    expect(stdout).toMatch(/^fault +event noticed by +after +after lost twice$/m)
    expect(stdout).toMatch(/^cut inside a UTF-8 char +\d+ tcp +\d+ ms +\d+ ms +0 +0$/m)
    expect(stdout).toMatch(/^1,000 of 1,000 events, [\d,]+ bytes, compared with the server's log:$/m)
    expect(hasControls(stdout + stderr)).toBe(false)
    expect(code).toBe(0)
  })

  it('strikes at the same places with the same seed, and elsewhere with another', async () => {
    const places = async (seed: string) => {
      const { stdout } = await cli('demo', '--only', 'redirect', '--events', '4000', '--seed', seed, '--json')
      return (JSON.parse(stdout).rows as Row[]).map(({ fault, atEvent }) => ({ fault, atEvent }))
    }
    const [first, again, other] = await Promise.all([places('5'), places('5'), places('6')])
    expect(first).toHaveLength(2)
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
  })

  it('leaves the server running for experiments, again and again, until Ctrl-C', async () => {
    const demo = new Cli(['demo', '--serve', '0', '--events', '400', '--only', 'cut inside', '--seed', '9'])
    await demo.until(() => demo.stdout.includes('Ctrl-C'))
    const url = demo.stdout.split('\n', 1)[0] as string
    const log = eventLog({ count: 400, seed: 9, bytes: [20, 1_000] })
    // The second reader meets the same faults once more.
    for (let reader = 0; reader < 2; reader++) {
      const received: string[] = []
      for await (const event of new ResilientSse(url, { backoff: { baseMs: 10 } })) {
        received.push(event.data)
        if (received.length === 400) break
      }
      expect(received).toEqual(Array.from({ length: 400 }, (_, index) => log.at(index).data))
    }
    await demo.until(() => (demo.stdout.match(/: cutInside character/g) ?? []).length === 2)
    const { code } = await demo.kill('SIGINT')
    expect(code).toBe(130)
    await expect(fetch(url)).rejects.toThrow('fetch failed')
  })
})
