import { FaultServer, heartbeats, rest, stay } from 'resilient-sse/testing'
import { expect } from 'vitest'
import { sleep } from '../faults/support.ts'
import { Follower, noticed, until } from './follower.ts'
import { Gateway, type Kind } from './gateway.ts'
import type { MeasuredTable } from './measured.ts'
import { Publisher } from './publisher.ts'

const RUN_MS = process.env.GATEWAYS_LONG ? 300_000 : 60_000
const EVENT_EVERY_MS = 50
const HEALTHY = [heartbeats({ everyMs: 15_000 }), rest(), stay()]
const SPEECHES = ['http', 'https', 'h2']

export const GOOD_HEAD = ['client', 'reload', 'restart', 'switch', 'events', 'dials', 'lost', 'doubled']
export const GOOD_LIMIT_MS = RUN_MS + 120_000

/** The documented configuration, default options, and what an operator does in the life of a service. */
export async function goodRun(kind: Kind, table: MeasuredTable): Promise<void> {
  using publisher = new Publisher()
  const { log } = publisher
  await using blue = await FaultServer.start({ log, otherwise: HEALTHY })
  await using green = await FaultServer.start({ log, otherwise: HEALTHY })
  await using gateway = await Gateway.start(kind, blue.port)
  await using http = new Follower(gateway, publisher, { speech: 'http' })
  await using https = new Follower(gateway, publisher, { speech: 'https' })
  await using h2 = new Follower(gateway, publisher, { speech: 'h2' })
  const followers = [http, https, h2]
  const told = () => followers.map(({ witness }) => witness.events.length)
  await Promise.all(followers.map(one => one.connected()))
  publisher.publishEvery(EVENT_EVERY_MS)

  await sleep(RUN_MS / 6)
  const beforeReload = told()
  await gateway.reload()

  await sleep(RUN_MS / 6)
  const beforeRestart = told()
  blue.refuse()
  blue.resetAll()
  const isRefused = ({ witness }: Follower) => witness.of('drop').some(({ reason }) => reason === 'refused')
  await until(() => followers.every(isRefused), 'each client has met the server while it was down')
  await blue.accept()

  await sleep(RUN_MS / 6)
  const beforeSwitch = told()
  await gateway.reload({ upstreamPort: green.port })
  // The old server goes when the new one has taken over.
  await sleep(RUN_MS / 12)
  blue.refuse()
  blue.resetAll()

  await sleep((RUN_MS * 5) / 12)
  publisher.stop()
  for (const [index, follower] of followers.entries()) {
    await follower.caughtUp()
    follower.expectAllOnceInOrder()
    const { events } = follower.witness
    const [reload, restart, change] = [beforeReload, beforeRestart, beforeSwitch].map(told => told[index])
    const phases = [events.slice(reload, restart), events.slice(restart, change), events.slice(change)]
    table.add(
      SPEECHES[index] ?? '',
      ...phases.map(phase => noticed(phase).join(', ') || 'nothing'),
      `about ${publisher.numbers.length.toLocaleString('en')}`,
      `about ${follower.dialled.length}`,
      String(follower.lost),
      String(follower.doubled),
    )
  }

  // Every cursor that was dialled with has reached a server, and nobody else asked.
  const requests = [...blue.requests, ...green.requests]
  const cursors = requests.map(({ lastEventId }) => lastEventId)
  expect(cursors.sort()).toEqual(followers.flatMap(({ opened }) => opened).sort())
  expect(green.requests.length).toBeGreaterThanOrEqual(followers.length)
  expect(publisher.numbers.length).toBeGreaterThan(RUN_MS / EVENT_EVERY_MS / 2)
  for (const { httpVersion, headers } of requests) {
    expect(httpVersion).toBe('1.1')
    expect(headers).toMatchObject({
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'cache-control': 'no-cache',
    })
  }
}
