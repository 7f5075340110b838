import { answer, cut, cutInside, fromNow, heartbeats, rest, send, silence, stay } from 'resilient-sse/testing'
import { expect } from 'vitest'
import { sleep } from '../faults/support.ts'
import { type Follower, type FollowerOptions, type Speech, until } from './follower.ts'
import type { Change, Kind } from './gateway.ts'
import type { MeasuredTable } from './measured.ts'
import { addRow, notes, Scene, type Setting } from './scene.ts'

// What is tried behind each gateway in the same way.

/** A gateway that takes 2 s of silence for death, and a server with an event every 3 s and no heartbeat. */
export async function shortTimeout(
  kind: Kind,
  setting: Setting,
  table: MeasuredTable,
  reason: 'network' | 'end',
): Promise<void> {
  await using scene = await Scene.set(kind, setting.changes)
  const { publisher } = scene
  publisher.publish()
  await using follower = scene.follow()
  await follower.has(1)
  publisher.publishEvery(3_000)
  await follower.cut(3)
  publisher.stop()
  await follower.caughtUp()
  follower.expectAllOnceInOrder()
  expectCuts(follower, reason)
  expect(scene.cursors.slice(0, 2)).toEqual([undefined, '1'])
  const what = `${setting.label}, an event every 3 s`
  addRow(table, what, 'any', follower, notes(follower, 'after a redial', follower.cuts))
}

/**
 * How connections were cut. On a machine that is busy a dial may fail in between: a gateway with so little patience does not
 * wait for its server's headers, either.
 */
export function expectCuts({ cuts, dialled }: Follower, reason: 'network' | 'end'): void {
  expect(new Set(cuts.map(drop => drop.reason))).toEqual(new Set([reason]))
  expect(dialled.length).toBeGreaterThan(cuts.length)
}

/** A gateway that takes 10 s of silence for death, and a server that says nothing but heartbeats for 25. */
export async function heartbeatHelps(kind: Kind, setting: Setting, table: MeasuredTable): Promise<void> {
  await using scene = await Scene.set(kind, setting.changes, {
    otherwise: [heartbeats({ everyMs: 500 }), rest(), stay()],
  })
  const { publisher } = scene
  publisher.publish()
  await using follower = scene.follow()
  await follower.has(1)
  await sleep(25_000)
  publisher.publish()
  await follower.caughtUp()
  follower.expectAllOnceInOrder()
  expect(follower.dialled).toEqual([undefined])
  addRow(table, `${setting.label}, a heartbeat every 0.5 s`, 'any', follower)
}

/** A server that falls silent: heartbeat 0.5 s < watchdog 3 s < gateway 8 s. */
export async function orderKept(kind: Kind, ...timeouts: Change[]): Promise<void> {
  await using scene = await Scene.set(kind, timeouts, {
    script: [[send(3), heartbeats({ everyMs: 500, count: 4 }), silence()]],
    otherwise: [heartbeats({ everyMs: 500 }), rest(), stay()],
  })
  const { publisher, upstream } = scene
  publisher.publish(5)
  await using follower = scene.follow({ heartbeat: { timeoutMs: 3_000 } })
  await follower.caughtUp()
  follower.expectAllOnceInOrder()
  expect(new Set(follower.witness.of('drop').map(({ reason }) => reason))).toEqual(new Set(['silence']))
  expect(scene.cursors.slice(0, 2)).toEqual([undefined, '3'])
  // The gateway has let the server know, too.
  await upstream.waitForClose(0, 60_000)
  expect(upstream.requests[0]?.closedBy).toBe('client')
}

/** A server that replays everything to whoever brings no cursor. */
export async function cursorNotPassed(kind: Kind, setting: Setting, table: MeasuredTable): Promise<void> {
  await using scene = await Scene.set(kind, setting.changes, { script: [[send(10), cut()]] })
  scene.publisher.publish(20)
  await using follower = scene.follow()
  await follower.caughtUp()
  expect(follower.dialled).toEqual([undefined, '10'])
  expect(scene.cursors).toEqual([undefined, undefined])
  follower.expectAllOnceInOrder()
  expect(follower.witness.of('gap')).toMatchObject([{ reason: 'cursor-ignored', after: '10' }])
  expect(follower.witness.of('duplicate')).toMatchObject([{ count: 10, firstId: '1', lastId: '10' }])
  addRow(
    table,
    `${setting.label}, a server that replays all`,
    'any',
    follower,
    notes(follower, 'after a redial'),
  )
}

/** A server that begins with what is published from now on for whoever brings no cursor. */
export async function cursorNotPassedToLiveServer(
  kind: Kind,
  setting: Setting,
  table: MeasuredTable,
): Promise<void> {
  await using scene = await Scene.set(kind, setting.changes, {
    script: [[send(10), cut()]],
    otherwise: [fromNow(), stay()],
  })
  const { publisher, upstream } = scene
  publisher.publish(20)
  await using follower = scene.follow({ resume: { isNext: 'decimal' } })
  await upstream.waitForRequests(2, 60_000)
  publisher.publish(5)
  await follower.caughtUp()
  expect(follower.dialled).toEqual([undefined, '10'])
  expect(scene.cursors).toEqual([undefined, undefined])
  expect(follower.numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 21, 22, 23, 24, 25])
  expect(follower.witness.of('gap')).toMatchObject([{ reason: 'missing', after: '10', before: '21' }])
  addRow(
    table,
    `${setting.label}, a server that goes on from now`,
    "`isNext: 'decimal'`",
    follower,
    notes(follower, 'after a redial'),
  )
}

/** Answers without a stream before the stream, and how many connections the gateway made for them. */
export async function upstreamConnections(
  kind: Kind,
  changes: readonly Change[] = [],
): Promise<[number, Follower]> {
  await using scene = await Scene.set(kind, changes, {
    script: Array.from({ length: 4 }, () => [answer(503, { headers: { 'retry-after': '0' } })]),
  })
  scene.publisher.publish(3)
  await using follower = scene.follow({ backoff: { baseMs: 20, maxMs: 100 } })
  await follower.caughtUp()
  follower.expectAllOnceInOrder()
  expect(follower.dialled).toHaveLength(5)
  return [new Set(scene.upstream.requests.map(({ connectionId }) => connectionId)).size, follower]
}

/** What a client is told when the server breaks off in the middle of an event. */
export async function brokenOff(
  kind: Kind,
  speech: Speech,
  reason: 'network' | 'end',
  table: MeasuredTable,
  setting: Setting = { label: 'as documented', changes: [] },
): Promise<void> {
  await using scene = await Scene.set(kind, setting.changes, { script: [[send(10), cutInside('event')]] })
  scene.publisher.publish(20, 100)
  await using follower = scene.follow({ speech })
  await follower.caughtUp()
  follower.expectAllOnceInOrder()
  expect(scene.cursors).toEqual([undefined, '10'])
  expect(follower.witness.of('drop')).toMatchObject([{ opened: true, events: 10, reason }])
  expect(follower.witness.of('drop')[0]?.discardedChars).toBeGreaterThan(0)
  addRow(
    table,
    `${setting.label}, the server breaks off inside an event`,
    speech,
    follower,
    notes(follower, 'after a redial'),
  )
}

/** The same for a stream that is finite: its end is taken for what the gateway makes of it. */
export async function finiteBrokenOff(
  kind: Kind,
  speech: Speech,
  changes: readonly Change[] = [],
): Promise<{ ended: boolean; numbers: number[] }> {
  await using scene = await Scene.set(kind, changes, { script: [[send(10), cutInside('event')]] })
  scene.publisher.publish(20, 100)
  await using follower = scene.follow({ speech, reconnectOnEnd: false })
  await until(
    () => follower.numbers.length === 20 || follower.witness.of('close').length > 0,
    'it ends or goes on',
  )
  return { ended: follower.witness.of('close')[0]?.reason === 'end', numbers: follower.numbers }
}

/** A consumer that works on one event for 6 s, while the server goes on writing. */
export async function slowConsumer(kind: Kind, setting: Setting, table: MeasuredTable): Promise<void> {
  const handle = (number: number) => (number === 10 ? sleep(6_000) : undefined)
  const drops = async (changes: readonly Change[]) => {
    await using scene = await Scene.set(kind, changes)
    // More than the buffers between server and client hold.
    scene.publisher.publish(600, 30_000)
    await using follower = scene.follow({ handle })
    await follower.caughtUp()
    follower.expectAllOnceInOrder()
    return { follower, reasons: follower.witness.of('drop').map(({ reason }) => reason) }
  }
  expect((await drops([])).reasons).toEqual([])
  const { follower, reasons } = await drops(setting.changes)
  expect(new Set(reasons)).toEqual(new Set(['network']))
  const noted = notes(follower, 'after a redial')
  addRow(table, `${setting.label}, a consumer that is busy for 6 s`, 'http', follower, noted)
}

/** The server has answered, and the client has given up, since no headers came. */
export async function keptWaiting({ upstream }: Scene, follower: Follower): Promise<void> {
  await upstream.waitForRequests(1, 60_000)
  // A dial of before may have met a machine that is busy.
  await follower.refused(follower.refusals.length + 1)
  for (const drop of follower.witness.of('drop'))
    expect(drop).toMatchObject({ opened: false, reason: 'network', error: { code: 'ERR_SSE_OPEN_TIMEOUT' } })
  expect(follower.numbers).toEqual([])
}

/** Nothing gets through, and the client says so, until the configuration is mended under its eyes. */
export async function withheld(
  kind: Kind,
  setting: Setting,
  table: MeasuredTable,
  client = 'any',
  options: FollowerOptions = {},
): Promise<void> {
  await using scene = await Scene.set(kind, setting.changes)
  const { publisher, gateway, upstream } = scene
  publisher.publishEvery(250)
  await using follower = scene.follow({ openTimeoutMs: 4_000, ...options })
  await keptWaiting(scene, follower)
  // The server believes that it was heard.
  expect(upstream.requests[0]?.eventsWritten).toBeGreaterThan(0)
  const noted = notes(follower, 'when it is mended')

  await gateway.reload({ changes: [] })
  publisher.stop()
  await follower.caughtUp()
  follower.expectAllOnceInOrder()
  addRow(table, setting.label, client, follower, noted)
}
