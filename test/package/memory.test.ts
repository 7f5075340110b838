import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { cut, FaultServer, replay, rest, send, stay } from 'resilient-sse/testing'
import { expect, test } from 'vitest'
import { builtTesting, expectDials } from '../faults/support.ts'

test('10,000 events of 300 KB with 36-character ids, through a reconnect, leave at most 10 MB behind', async () => {
  await using server = await FaultServer.spawn({
    modulePath: builtTesting(),
    log: { count: 10_000, bytes: 300_000, ids: 'uuid' },
    script: [
      [send(5_000), cut()],
      [replay({ overlap: 50 }), rest(), stay()],
    ],
  })
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--expose-gc',
      fileURLToPath(new URL('memory-client.mjs', import.meta.url)),
      `${dirname(builtTesting())}/index.js`,
      server.url,
      '10000',
    ],
    { timeout: 120_000 },
  )
  const { grownMb, ...facts } = JSON.parse(stdout)
  console.log(`3 GB read, ${grownMb.toFixed(1)} MB more held than after the first 200 events`)
  expect(facts).toMatchObject({ events: 10_000, ids: 10_000, duplicates: 50, dials: 2 })
  expect(grownMb).toBeLessThanOrEqual(10)
  expectDials(await server.requests(), [undefined, server.log.idAt(4_999)])
}, 150_000)
