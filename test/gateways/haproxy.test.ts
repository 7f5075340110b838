import { describe, expect, test } from 'vitest'
import { sleep } from '../faults/support.ts'
import { isInstalled } from './gateway.ts'
import { GOOD_HEAD, GOOD_LIMIT_MS, goodRun } from './good.ts'
import { haproxy } from './kinds.ts'
import { MeasuredTable } from './measured.ts'
import { addRow, notes, Scene, SETTINGS_HEAD, type Setting } from './scene.ts'
import {
  brokenOff,
  cursorNotPassed,
  cursorNotPassedToLiveServer,
  finiteBrokenOff,
  heartbeatHelps,
  orderKept,
  shortTimeout,
  slowConsumer,
  upstreamConnections,
} from './settings.ts'

const COMPRESSED: Setting = {
  label: '`compression algo gzip`',
  changes: [['server one', 'compression algo gzip\n\tcompression type text/event-stream\n\tserver one']],
}
const WAIT_FOR_BODY: Setting = {
  label: '`http-response wait-for-body time 2s`',
  changes: [['server one', 'http-response wait-for-body time 2s\n\tserver one']],
}
const serverTimeout = (seconds: number): Setting => ({
  label: `\`timeout server ${seconds}s\``,
  changes: [['timeout server 150s', `timeout server ${seconds}s`]],
})
const CLIENT_TIMEOUT: Setting = {
  label: '`timeout client 2s`',
  changes: [['timeout client 150s', 'timeout client 2s']],
}
const NO_CURSOR: Setting = {
  label: '`http-request del-header Last-Event-ID`',
  changes: [['server one', 'http-request del-header Last-Event-ID\n\tserver one']],
}
const SHARED: Setting = {
  label: '`http-reuse always`',
  changes: [['server one', 'http-reuse always\n\tserver one']],
}

const good = new MeasuredTable('HAProxy-good', ...GOOD_HEAD)
const bad = new MeasuredTable('HAProxy', ...SETTINGS_HEAD)

describe.skipIf(!isInstalled(haproxy))('HAProxy', () => {
  test.concurrent(
    'with the documented configuration nothing is lost or doubled',
    () => goodRun(haproxy, good),
    GOOD_LIMIT_MS,
  )

  test.concurrent('compression does not touch what this client asks for', async () => {
    await using scene = await Scene.set(haproxy, COMPRESSED.changes)
    await using follower = scene.follow()
    for (let n = 0; n < 3; n++) {
      scene.publisher.publish()
      await follower.caughtUp()
    }
    follower.expectAllOnceInOrder()
    expect(follower.dialled).toEqual([undefined])
    expect(follower.witness.of('open')[0]?.headers.has('content-encoding')).toBe(false)
    addRow(bad, COMPRESSED.label, '`Accept-Encoding: identity`', follower)
  })
  test.concurrent('compression keeps the newest event from a client that takes gzip', async () => {
    await using scene = await Scene.set(haproxy, COMPRESSED.changes)
    const { publisher, gateway } = scene
    await using follower = scene.follow({ headers: { 'accept-encoding': 'gzip' } })
    await follower.connected()
    publisher.publish()
    await sleep(2_000)
    for (let n = 0; n < 3; n++) {
      expect(follower.numbers).toHaveLength(n)
      publisher.publish()
      await follower.has(n + 1)
      await sleep(2_000)
    }
    expect(follower.witness.of('open')[0]?.headers.get('content-encoding')).toBe('gzip')
    const noted = notes(follower, 'with the next one')
    await gateway.reload({ changes: [] })
    await follower.caughtUp()
    follower.expectAllOnceInOrder()
    addRow(bad, COMPRESSED.label, '`Accept-Encoding: gzip`', follower, noted)
  })

  test.concurrent('wait-for-body waits for the end of an answer that has none, and then says 504', async () => {
    await using scene = await Scene.set(haproxy, WAIT_FOR_BODY.changes)
    const { publisher, gateway } = scene
    publisher.publish(3)
    await using follower = scene.follow()
    await follower.refused(2)
    for (const drop of follower.refusals)
      expect(drop).toMatchObject({ reason: 'refused', error: { status: 504 } })
    expect(follower.numbers).toEqual([])
    const noted = notes(follower, 'when it is mended')
    await gateway.reload({ changes: [] })
    await follower.caughtUp()
    follower.expectAllOnceInOrder()
    addRow(bad, WAIT_FOR_BODY.label, 'any', follower, noted)
  })

  test.concurrent('a server timeout of 2 s cuts a quiet stream, which is resumed', () =>
    shortTimeout(haproxy, serverTimeout(2), bad, 'network'))
  test.concurrent('a server timeout of 10 s does not cut a stream with a heartbeat', () =>
    heartbeatHelps(haproxy, serverTimeout(10), bad))
  test.concurrent('a client timeout of 2 s cuts a client that is busy, which goes on where it was', () =>
    slowConsumer(haproxy, CLIENT_TIMEOUT, bad))
  test.concurrent('with heartbeat < watchdog < timeouts it is the watchdog that judges a silent server', () =>
    orderKept(
      haproxy,
      ['timeout server 150s', 'timeout server 8s'],
      ['timeout client 150s', 'timeout client 8s'],
    ))

  test.concurrent.each([
    ['http', 'network', false],
    ['https', 'network', false],
    ['h2', 'end', true],
  ] as const)('a server that breaks off over %s looks like: %s', async (speech, reason, ended) => {
    await brokenOff(haproxy, speech, reason, bad)
    expect(await finiteBrokenOff(haproxy, speech)).toMatchObject({
      ended,
      numbers: { length: ended ? 10 : 20 },
    })
  })

  test.concurrent('a cursor that is not passed on makes the server replay; nothing comes twice, and it is told', () =>
    cursorNotPassed(haproxy, NO_CURSOR, bad))
  test.concurrent('a cursor that is not passed on loses events with a server that does not replay, and it is told', () =>
    cursorNotPassedToLiveServer(haproxy, NO_CURSOR, bad))

  test.concurrent('a connection to the server for each client is the rule; the client notices nothing', async () => {
    const [byDefault, follower] = await upstreamConnections(haproxy)
    const [shared] = await upstreamConnections(haproxy, SHARED.changes)
    expect(byDefault).toBe(5)
    expect(shared).toBe(1)
    addRow(bad, 'as documented, four answers 503', 'any', follower, notes(follower, 'after a redial'))
  })

  test('what is on the page is what was measured', () => {
    bad.settle()
    good.settle()
  })
})
