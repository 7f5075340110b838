import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Case } from '../spec/cases/case.ts'
import { cases } from '../spec/cases/index.ts'
import { expectCase, type Observed } from '../spec/observed.ts'
import { SpecServer } from '../spec/server.ts'
import type { StreamParameters } from './client.ts'
import { DrivenStream, PATIENCE_MS } from './driver.ts'
import { resilientSse } from './resilient-sse.ts'
import { type Service, startService } from './service.ts'

// What the public contract tests send and expect, told in our own words, through the service as they use it. The tests
// of the public harness itself need Go: npm run test:contract.

/** Set by npm run test:contract, where the service runs on the packed tarball in a process of its own. */
const running = process.env.CONTRACT_SERVICE
/** How long nothing more may come, when a case says nothing else. */
const QUIET_MS = 50

// Most of their time the cases wait.
vi.setConfig({ maxConcurrency: 8 })

const contract = cases.filter(({ suite }) => suite === 'contract')
const server = await SpecServer.start(contract)
let own: Service | undefined
let service = ''

beforeAll(async () => {
  if (running === undefined) own = await startService(resilientSse)
  service = running ?? (own as Service).url
})
afterAll(async () => {
  await own?.close()
  await server[Symbol.asyncDispose]()
})

test.concurrent.each(contract.map(one => [one.name, one] as const))('%s', async (_, one) => {
  const stream = await DrivenStream.begin(service, parametersOf(one, server.url(one.id, 1)))
  try {
    const { observed, errors } = await observe(stream, one)
    expectCase({ ...one.expected, told: [], state: 'open' }, observed, server.dials(one.id, 1))
    const { told, state } = one.expected
    // A 204 is no error here: the loop ends as it does after the last event of a file.
    const lost = told?.filter(one => one === 'error: connecting').length
    if (lost !== undefined) expect(errors).toBe(lost + (state === 'failed' ? 1 : 0))
  } finally {
    await stream.close()
  }
})

function parametersOf({ client = {} }: Case, streamUrl: string): StreamParameters {
  const { method, headers, body, lastEventId, baseMs, silenceMs } = client
  return { streamUrl, method, headers, body, lastEventId, initialDelayMs: baseMs, readTimeoutMs: silenceMs }
}

/** Collects callbacks until all that is expected has come, and a little longer. */
async function observe(stream: DrivenStream, { id, client, expected }: Case) {
  const observed: Observed = { events: [], comments: [], told: [], state: 'open', readyStates: undefined }
  let errors = 0
  const take = async () => {
    const message = await stream.message()
    if (message.kind === 'error') errors++
    if (message.kind === 'comment') observed.comments?.push(message.comment)
    if (message.kind !== 'event') return
    const { type, data, id: lastEventId = '' } = message.event
    observed.events.push({ type, data, lastEventId })
    if (observed.events.length === client?.reconnectAfter) await stream.command({ command: 'restart' })
  }
  const wanted =
    expected.events.length + (expected.comments?.length ?? 0) + (expected.state === 'failed' ? 1 : 0)
  const told = () => observed.events.length + (observed.comments?.length ?? 0)
  while (told() + (expected.state === 'failed' ? errors : 0) < wanted) await take()
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(5)) {
    if (server.dials(id, 1).length >= expected.dials.length) break
  }
  await sleep(expected.quietMs ?? QUIET_MS)
  while (stream.untold > 0) await take()
  return { observed, errors }
}
