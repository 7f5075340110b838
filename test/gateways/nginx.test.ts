import { type ConnectionScript, headers, rest, stay } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { until } from './follower.ts'
import { type Change, isInstalled } from './gateway.ts'
import { GOOD_HEAD, GOOD_LIMIT_MS, goodRun } from './good.ts'
import { nginx } from './kinds.ts'
import { MeasuredTable } from './measured.ts'
import { addRow, notes, Scene, SETTINGS_HEAD, type Setting } from './scene.ts'
import {
  brokenOff,
  cursorNotPassed,
  cursorNotPassedToLiveServer,
  finiteBrokenOff,
  heartbeatHelps,
  keptWaiting,
  orderKept,
  shortTimeout,
  slowConsumer,
  upstreamConnections,
  withheld,
} from './settings.ts'

const BUFFERING: Change = ['proxy_buffering off', 'proxy_buffering on']
const GZIP: Change = ['gzip off', 'gzip on; gzip_types text/event-stream']
const HTTP_1_0: Change = ['proxy_http_version 1.1', 'proxy_http_version 1.0']

const BUFFERED: Setting = { label: '`proxy_buffering on`', changes: [BUFFERING] }
const BUFFERED_1_0: Setting = {
  label: '`proxy_buffering on`, `proxy_http_version 1.0`',
  changes: [BUFFERING, HTTP_1_0],
}
const COMPRESSED: Setting = { label: '`proxy_buffering on`, `gzip on`', changes: [BUFFERING, GZIP] }
const readTimeout = (seconds: number): Setting => ({
  label: `\`proxy_read_timeout ${seconds}s\``,
  changes: [['proxy_read_timeout 150s', `proxy_read_timeout ${seconds}s`]],
})
const SEND_TIMEOUT: Setting = {
  label: '`send_timeout 2s`',
  changes: [['send_timeout 150s', 'send_timeout 2s']],
}
const NO_CURSOR: Setting = {
  label: '`proxy_set_header Last-Event-ID ""`',
  changes: [['Last-Event-ID $resume_after', 'Last-Event-ID ""']],
}
const NO_KEEPALIVE: Setting = { label: 'no `keepalive`', changes: [['keepalive 16;', '']] }

const good = new MeasuredTable('nginx-good', ...GOOD_HEAD)
const bad = new MeasuredTable('nginx', ...SETTINGS_HEAD)

describe.skipIf(!isInstalled(nginx))('nginx', () => {
  test.concurrent(
    'with the documented configuration nothing is lost or doubled',
    () => goodRun(nginx, good),
    GOOD_LIMIT_MS,
  )

  test.concurrent('proxy_buffering on withholds even the headers under TLS; the stream opens when it is off', () =>
    withheld(nginx, BUFFERED, bad, 'https, 0.1 KiB a second', { speech: 'https' }))

  test.concurrent('proxy_buffering on under TLS gathers 16 KiB: events are seconds late, and none is lost', async () => {
    await using scene = await Scene.set(nginx, BUFFERED.changes)
    const { publisher, gateway } = scene
    publisher.publishEvery(250, 500)
    await using follower = scene.follow({ speech: 'https', heartbeat: false })
    await follower.has(40)
    const noted = notes(follower, '16 KiB at a time')
    expect(follower.dialled).toEqual([undefined])
    expect(follower.lateMs).toBeGreaterThan(4_000)
    // What is still in the buffer comes when it is gone.
    await gateway.reload({ changes: [] })
    publisher.stop()
    await follower.caughtUp()
    follower.expectAllOnceInOrder()
    addRow(bad, BUFFERED.label, 'https, 2 KiB a second', follower, noted)
  })

  test.concurrent.each(['http', 'h2'] as const)(
    'proxy_buffering on holds nothing back over %s from a server that speaks HTTP/1.1',
    speech => unhindered(BUFFERED.label, speech, [BUFFERING]),
  )

  test.concurrent('HTTP/1.0 with proxy_buffering on, both of them the default, withhold everything over http, too', () =>
    withheld(nginx, BUFFERED_1_0, bad))

  test.concurrent.each([
    ['proxy_set_header', 'no'],
    ['add_header', undefined],
  ])('X-Accel-Buffering in %s changes nothing', async (directive, received) => {
    const inVain: Change = ['proxy_buffering off', `proxy_buffering on; ${directive} X-Accel-Buffering no`]
    await using scene = await Scene.set(nginx, [inVain])
    const { publisher, upstream } = scene
    publisher.publishEvery(250)
    await using follower = scene.follow({ speech: 'https', openTimeoutMs: 4_000 })
    await keptWaiting(scene, follower)
    // The one goes to the server, the other to the client; nginx itself reads neither.
    expect(upstream.requests[0]?.headers['x-accel-buffering']).toBe(received)
  })

  test.concurrent('X-Accel-Buffering in the answer of the server switches buffering off for this answer', async () => {
    const label = '`proxy_buffering on`, the server says `X-Accel-Buffering: no`'
    await unhindered(label, 'https', [BUFFERING], [headers({ 'X-Accel-Buffering': 'no' }), rest(), stay()])
  })

  test.concurrent('gzip does not touch what this client asks for', () =>
    unhindered(COMPRESSED.label, 'http', COMPRESSED.changes))
  test.concurrent('gzip withholds everything from a client that takes it', () =>
    withheld(nginx, COMPRESSED, bad, '`Accept-Encoding: gzip`', { headers: { 'accept-encoding': 'gzip' } }))

  test.concurrent('a read timeout of 2 s cuts a quiet stream, which is resumed', () =>
    shortTimeout(nginx, readTimeout(2), bad, 'network'))
  test.concurrent('a read timeout of 10 s does not cut a stream with a heartbeat', () =>
    heartbeatHelps(nginx, readTimeout(10), bad))
  test.concurrent('with heartbeat < watchdog < read timeout it is the watchdog that judges a silent server', () =>
    orderKept(nginx, ['proxy_read_timeout 150s', 'proxy_read_timeout 8s']))

  test.concurrent.each(['http', 'https', 'h2'] as const)(
    'a server that breaks off is told from one that ends over %s',
    async speech => {
      await brokenOff(nginx, speech, 'network', bad)
      // Dialled again, although an end would be the end.
      expect(await finiteBrokenOff(nginx, speech)).toMatchObject({ ended: false, numbers: { length: 20 } })
    },
  )
  test.concurrent('with HTTP/1.0 a server that breaks off cannot be told from one that ends', async () => {
    await brokenOff(nginx, 'http', 'end', bad, { label: '`proxy_http_version 1.0`', changes: [HTTP_1_0] })
    expect(await finiteBrokenOff(nginx, 'http', [HTTP_1_0])).toMatchObject({
      ended: true,
      numbers: { length: 10 },
    })
  })

  test.concurrent('a send timeout of 2 s cuts a client that is busy, which goes on where it was', () =>
    slowConsumer(nginx, SEND_TIMEOUT, bad))

  test.concurrent('a cursor that is not passed on makes the server replay; nothing comes twice, and it is told', () =>
    cursorNotPassed(nginx, NO_CURSOR, bad))
  test.concurrent('a cursor that is not passed on loses events with a server that does not replay, and it is told', () =>
    cursorNotPassedToLiveServer(nginx, NO_CURSOR, bad))

  test.concurrent.each([
    ['the header', { 'last-event-id': '12' }, '', '12'],
    ['the query of a client without the header', {}, '?lastEventId=12', '12'],
    ['the header, which is newer than the query', { 'last-event-id': '15' }, '?lastEventId=12', '15'],
    ['nothing when there is neither', {}, '', undefined],
  ])('the map passes on %s', async (_, headers, query, received) => {
    expect(await cursorAt(query, headers)).toMatchObject({
      lastEventId: received,
      firstIndex: Number(received ?? 0),
    })
  })
  test.concurrent('a map that says 0 for a client without a cursor has it sent everything', async () => {
    const zero: Change = ["''      $arg_lastEventId", "''      0"]
    expect(await cursorAt('', {}, [zero])).toMatchObject({ lastEventId: '0', eventsWritten: 20 })
  })

  test.concurrent('keepalive saves connections to the server for short answers; the client notices nothing', async () => {
    const [withKeepalive] = await upstreamConnections(nginx)
    const [without, follower] = await upstreamConnections(nginx, NO_KEEPALIVE.changes)
    expect(withKeepalive).toBe(1)
    expect(without).toBe(5)
    addRow(bad, `${NO_KEEPALIVE.label}, four answers 503`, 'any', follower, notes(follower, 'after a redial'))
  })

  test('what is on the page is what was measured', () => {
    bad.settle()
    good.settle()
  })
})

/** Each event comes at once, on one connection, as it is. */
async function unhindered(
  label: string,
  speech: 'http' | 'https' | 'h2',
  changes: readonly Change[],
  otherwise: ConnectionScript = [rest(), stay()],
): Promise<void> {
  await using scene = await Scene.set(nginx, changes, { otherwise })
  const { publisher } = scene
  publisher.publishEvery(250)
  await using follower = scene.follow({ speech })
  await follower.has(20)
  publisher.stop()
  await follower.caughtUp()
  follower.expectAllOnceInOrder()
  expect(follower.dialled).toEqual([undefined])
  const [open] = follower.witness.of('open')
  expect(open?.headers.has('content-encoding')).toBe(false)
  expect(open?.headers.has('x-accel-buffering'), 'nginx keeps it to itself').toBe(false)
  addRow(bad, label, speech, follower)
}

/** What reaches the server of a request with this query and these headers. */
async function cursorAt(query: string, headers: Record<string, string>, changes: readonly Change[] = []) {
  await using scene = await Scene.set(nginx, changes)
  scene.publisher.publish(20)
  const leave = new AbortController()
  await fetch(scene.gateway.url + query, { headers, signal: leave.signal })
  await until(() => scene.upstream.requests[0]?.lastIndex === 19, 'the server has written all it has')
  leave.abort()
  return { ...scene.upstream.requests[0] }
}
