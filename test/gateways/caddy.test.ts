import { describe, expect, test } from 'vitest'
import { isInstalled } from './gateway.ts'
import { GOOD_HEAD, GOOD_LIMIT_MS, goodRun } from './good.ts'
import { caddy } from './kinds.ts'
import { MeasuredTable } from './measured.ts'
import { addRow, notes, Scene, SETTINGS_HEAD, type Setting } from './scene.ts'
import {
  brokenOff,
  cursorNotPassed,
  cursorNotPassedToLiveServer,
  expectCuts,
  finiteBrokenOff,
  heartbeatHelps,
  orderKept,
  shortTimeout,
  upstreamConnections,
  withheld,
} from './settings.ts'

const BUFFERING: Setting = {
  label: '`buffer_responses`',
  changes: [['transport http {', 'buffer_responses\n\t\ttransport http {']],
}
const GZIP: Setting = {
  label: '`encode gzip`',
  changes: [['reverse_proxy ', 'encode gzip\n\treverse_proxy ']],
}
const readTimeout = (seconds: number): Setting => ({
  label: `\`read_timeout ${seconds}s\``,
  changes: [['dial_timeout 5s', `read_timeout ${seconds}s`]],
})
const WRITE_TIMEOUT: Setting = {
  label: '`timeouts { write 4s }`',
  changes: [['# Careful with', 'servers {\n\t\ttimeouts {\n\t\t\twrite 4s\n\t\t}\n\t}\n\t# Careful with']],
}
const NO_CURSOR: Setting = {
  label: '`header_up -Last-Event-ID`',
  changes: [['transport http {', 'header_up -Last-Event-ID\n\t\ttransport http {']],
}
const NO_KEEPALIVE: Setting = {
  label: '`keepalive off`',
  changes: [['dial_timeout 5s', 'keepalive off']],
}

const good = new MeasuredTable('Caddy-good', ...GOOD_HEAD)
const bad = new MeasuredTable('Caddy', ...SETTINGS_HEAD)

describe.skipIf(!isInstalled(caddy))('Caddy', () => {
  test.concurrent(
    'with the documented configuration nothing is lost or doubled',
    () => goodRun(caddy, good),
    GOOD_LIMIT_MS,
  )

  test.concurrent('buffer_responses withholds even the headers; the stream opens when it is gone', () =>
    withheld(caddy, BUFFERING, bad))

  test.concurrent.each(['identity', 'gzip'])('encode leaves a stream alone, asked for %s', async encoding => {
    await using scene = await Scene.set(caddy, GZIP.changes)
    const { publisher } = scene
    publisher.publishEvery(250)
    await using follower = scene.follow({ headers: { 'accept-encoding': encoding } })
    await follower.has(20)
    publisher.stop()
    await follower.caughtUp()
    follower.expectAllOnceInOrder()
    expect(follower.witness.of('open').map(({ headers }) => headers.has('content-encoding'))).toEqual([false])
    addRow(bad, GZIP.label, `\`Accept-Encoding: ${encoding}\``, follower)
  })

  test.concurrent('a read timeout of 2 s cuts a quiet stream, which is resumed', () =>
    shortTimeout(caddy, readTimeout(2), bad, 'end'))
  test.concurrent('a read timeout of 10 s does not cut a stream with a heartbeat', () =>
    heartbeatHelps(caddy, readTimeout(10), bad))
  test.concurrent('a write timeout cuts a stream that is alive, which is resumed', async () => {
    await using scene = await Scene.set(caddy, WRITE_TIMEOUT.changes)
    const { publisher } = scene
    publisher.publishEvery(250)
    await using follower = scene.follow()
    await follower.cut(3)
    publisher.stop()
    await follower.caughtUp()
    follower.expectAllOnceInOrder()
    expectCuts(follower, 'network')
    addRow(
      bad,
      `${WRITE_TIMEOUT.label}, an event every 0.25 s`,
      'any',
      follower,
      notes(follower, 'after a redial', follower.cuts),
    )
  })
  test.concurrent('with heartbeat < watchdog < read timeout it is the watchdog that judges a silent server', () =>
    orderKept(caddy, ['dial_timeout 5s', 'read_timeout 8s']))

  test.concurrent.each(['http', 'https', 'h2'] as const)(
    'a server that breaks off cannot be told from one that ends over %s',
    async speech => {
      await brokenOff(caddy, speech, 'end', bad)
      expect(await finiteBrokenOff(caddy, speech)).toMatchObject({ ended: true, numbers: { length: 10 } })
    },
  )

  test.concurrent('a cursor that is not passed on makes the server replay; nothing comes twice, and it is told', () =>
    cursorNotPassed(caddy, NO_CURSOR, bad))
  test.concurrent('a cursor that is not passed on loses events with a server that does not replay, and it is told', () =>
    cursorNotPassedToLiveServer(caddy, NO_CURSOR, bad))

  test.concurrent('keepalive saves connections to the server for short answers; the client notices nothing', async () => {
    const [withKeepalive] = await upstreamConnections(caddy)
    const [without, follower] = await upstreamConnections(caddy, NO_KEEPALIVE.changes)
    expect(withKeepalive).toBe(1)
    expect(without).toBe(5)
    addRow(bad, `${NO_KEEPALIVE.label}, four answers 503`, 'any', follower, notes(follower, 'after a redial'))
  })

  test('what is on the page is what was measured', () => {
    bad.settle()
    good.settle()
  })
})
