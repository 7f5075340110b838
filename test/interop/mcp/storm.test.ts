import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serverOptions, startServer } from '../../../docs/examples/mcp/server.ts'
import { BreakingProxy } from './breaking-proxy.ts'
import { connect, type Line, QUICK, wrapped } from './clients.ts'
import { type Leg, McpFaultServer } from './fault-server.ts'

const LINES: Line[] = ['v1', 'v2']
const CALLS = 20
const numbers = Array.from({ length: CALLS }, (_, index) => index)

describe('twenty calls at once', () => {
  test.concurrent.each(LINES)(
    '%s: a close at each of 100 items and a third of the legs reset: every notification once, in order, and 20 POSTs',
    async line => {
      const server = await startServer(
        serverOptions(['--port', '0', '--retry-interval', '0', '--max-events-per-stream', '1000']),
      )
      const proxy = await BreakingProxy.start(new URL(server.url), 3)
      const client = await connect(line, proxy.url, wrapped())
      // The number of items tells the calls apart.
      const answers = await Promise.all(
        numbers.map(number =>
          client.call('process_batch', {
            arguments: { items: 100 + number, checkpoint_every: 1 },
            timeout: 200_000,
          }),
        ),
      )
      for (const number of numbers) {
        const items = 100 + number
        const expected = Array.from({ length: items }, (_, index) => [
          `Processed item ${index + 1} of ${items}`,
          `Checkpoint at item ${index + 1} of ${items}: sent while no stream was open`,
        ]).flat()
        expected.pop()
        const own = client.logs.filter(text => String(text).includes(` of ${items}`))
        expect(own).toEqual(expected)
        expect(answers[number]).toBe(`Processed ${items} items; checkpoints: ${items - 1}`)
      }
      expect(proxy.posts.filter(method => method === 'tools/call')).toHaveLength(CALLS)
      // How many legs there are to be reset depends on how busy the machine is.
      expect(proxy.resets).toBeGreaterThan(CALLS)
      expect(client.errors).toEqual([])
      await client.close()
      await proxy[Symbol.asyncDispose]()
      await server.close()
    },
    240_000,
  )

  test.concurrent.each(LINES)(
    '%s: legs reset before any id: those calls end in -32000, and none is carried out twice',
    async line => {
      const folder = mkdtempSync(join(tmpdir(), 'mcp-'))
      const file = join(folder, 'carried-out')
      const breaks = (number: number) => number % 3 === 0
      const append: Leg = out => {
        const { number } = (out.seen.params as { arguments: { number: number } }).arguments
        appendFileSync(file, `${number}\n`)
        if (breaks(number)) out.reset()
        else out.prime(`append/${number}`).result(`done ${number}`, `append/${number}b`).end()
      }
      await using server = await McpFaultServer.start({ tools: { append: [append] } })
      await using client = await connect(line, server.url, wrapped(QUICK))
      const startedAt = performance.now()
      const outcomes = await Promise.allSettled(
        numbers.map(number => client.call('append', { arguments: { number } })),
      )
      expect(performance.now() - startedAt).toBeLessThan(30_000)
      for (const [number, outcome] of outcomes.entries()) {
        if (breaks(number))
          expect(outcome).toMatchObject({
            status: 'rejected',
            reason: { code: -32_000, data: { sent: 'unknown', reason: 'no-cursor' } },
          })
        else expect(outcome).toEqual({ status: 'fulfilled', value: `done ${number}` })
      }
      const carriedOut = readFileSync(file, 'utf8').trim().split('\n').map(Number)
      expect(carriedOut.toSorted((a, b) => a - b)).toEqual(numbers)
      expect(server.of('tools/call')).toHaveLength(CALLS)
      expect(client.errors).toEqual([])
      rmSync(folder, { recursive: true })
    },
  )
})
