import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { ResilientSse } from 'resilient-sse'
import { cut, FaultServer, reset, send } from 'resilient-sse/testing'
import { expect, test } from 'vitest'
import { codeUnder, Kitchen } from '../../recipes/recipe.ts'

test('the proxy of docs/recipes.md works with the real Express', async () => {
  await using server = await FaultServer.start({
    log: { count: 200, ids: 'decimal' },
    script: [
      [send(50), reset()],
      [send(50), cut()],
    ],
  })
  const app = express()
  using kitchen = new Kitchen()
  const [code = ''] = codeUnder('docs/recipes.md', 'A proxy, with Express')
  await kitchen.run(code, { url: server.url, handle: () => {}, app })
  const listening = app.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const stream = new ResilientSse(`http://127.0.0.1:${(listening.address() as AddressInfo).port}/feed`)
  const ids: (string | undefined)[] = []
  for await (const { id } of stream) if (ids.push(id) === 200) break
  expect(ids).toEqual(Array.from({ length: 200 }, (_, index) => String(index + 1)))
  expect(stream.stats().tcp.dials).toBe(1)
  expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual([undefined, '50', '100'])
  listening.closeAllConnections()
  listening.close()
})
