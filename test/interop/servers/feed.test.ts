import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { Feed, lastEventIdOf, send } from '../../../docs/examples/servers/feed.mjs'
import type { Subscription } from '../../../docs/examples/servers/subscription.mjs'

const file = () => join(mkdtempSync(join(tmpdir(), 'feed-')), 'events.journal')

function bodyOf(answer: ReturnType<Feed['subscribe']>): Subscription {
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.body}`)
  return answer.body
}

afterEach(() => {
  vi.useRealTimers()
})

test('a comment comes every 15 s, and one only to a client that does not read', async () => {
  vi.useFakeTimers()
  const body = bodyOf(new Feed().subscribe(undefined))
  expect((await body.next()).value).toMatch(/^retry: 2000\nid: \w+-0\n\n$/)
  const next = body.next()
  await vi.advanceTimersByTimeAsync(14_999)
  await expect(Promise.race([next, 'nothing'])).resolves.toBe('nothing')
  await vi.advanceTimersByTimeAsync(1)
  expect((await next).value).toBe(': heartbeat\n\n')
  await vi.advanceTimersByTimeAsync(60_000)
  expect((await body.next()).value).toBe(': heartbeat\n\n')
  await body.return()
  expect(vi.getTimerCount()).toBe(0)
})

test('data of several lines, and its type, arrive as they were; a type with a line feed is refused', async () => {
  const feed = new Feed()
  const body = bodyOf(feed.subscribe(undefined))
  await body.next()
  const id = feed.publish({ event: 'note', data: 'a\r\n\nb\r' })
  expect((await body.next()).value).toBe(`id: ${id}\nevent: note\ndata: a\ndata: \ndata: b\ndata: \n\n`)
  expect(() => feed.publish({ event: 'x\nid: 9', data: '' })).toThrow(TypeError)
})

test('the numbering goes on after a crash in the middle of a write, and the half line is forgotten', async () => {
  const path = file()
  const before = new Feed({ file: path, maxEvents: 3 })
  const ids = ['a', 'b', 'c', 'd', 'e'].map(data => before.publish({ data }))
  appendFileSync(path, '{"seq":6,"da')
  const after = new Feed({ file: path, maxEvents: 3 })
  expect(after.subscribe(ids[0]).status).toBe(410)
  expect((await bodyOf(after.subscribe(ids[1])).next()).value).toMatch(/data: c\n.*data: d\n.*data: e\n/s)
  expect(after.publish({ data: 'f' })).toBe(ids[4]?.replace('-5', '-6'))
})

test('the journal does not grow for ever', () => {
  const path = file()
  const feed = new Feed({ file: path, maxEvents: 10 })
  for (let number = 0; number < 5_000; number++) feed.publish({ data: 'x' })
  expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(1_100)
  expect(feed.publish({ data: 'x' })).toMatch(/-5001$/)
})

test('a journal that was lost, and none at all, mean a new numbering: old ids are told from new ones', () => {
  const path = file()
  const id = new Feed({ file: path }).publish({ data: 'a' })
  const others = [new Feed({ file: file() }), new Feed()]
  for (const other of others) {
    other.publish({ data: 'another' })
    expect(other.subscribe(id)).toMatchObject({ status: 410 })
  }
  writeFileSync(path, 'not a journal\n')
  expect(() => new Feed({ file: path })).toThrow(SyntaxError)
})

test('the newest event is kept even if it alone is too large, and nobody who is up to date is cut', async () => {
  const feed = new Feed({ maxChars: 100 })
  const body = bodyOf(feed.subscribe(undefined))
  body.onCut = () => expect.unreachable()
  await body.next()
  for (const data of ['x'.repeat(1_000), 'y'.repeat(1_000)]) {
    const id = feed.publish({ data })
    expect((await body.next()).value).toContain(data)
    expect(feed.subscribe(id).status).toBe(200)
  }
})

test('a client that is never read leaves nothing behind, nor does one that left', async () => {
  const feed = new Feed()
  feed.subscribe(undefined)
  expect(feed.size).toBe(0)
  const body = bodyOf(feed.subscribe(undefined))
  await body.next()
  expect(feed.size).toBe(1)
  const pending = body.next()
  await body.return()
  expect(await pending).toEqual({ done: true, value: undefined })
  expect(feed.size).toBe(0)
})

test('HEAD is answered with headers alone, and leaves nothing behind', async () => {
  const feed = new Feed()
  const server = createServer((_, response) => void send(response, feed.subscribe(undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'HEAD' })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  await sleep(50)
  expect(feed.size).toBe(0)
  server.closeAllConnections()
  server.close()
})

test('the header wins over the parameter, and an empty one counts as none', () => {
  expect(lastEventIdOf('a', 'b')).toBe('a')
  expect(lastEventIdOf('', 'b')).toBe('b')
  expect(lastEventIdOf(undefined, null)).toBeUndefined()
  expect(lastEventIdOf('', '')).toBeUndefined()
})

test('what waits for a client that does not read is one chunk, and end() does not wait for it for ever', async () => {
  const feed = new Feed({ maxChars: 50_000_000, heartbeatMs: 20, endMs: 100 })
  let queued = 0
  const server = createServer((_, response) => {
    const watch = setInterval(() => {
      queued = Math.max(queued, response.writableLength)
    }, 5)
    response.on('close', () => clearInterval(watch))
    void send(response, feed.subscribe(undefined))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sent = get(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  await sleep(50)
  for (let number = 0; number < 300; number++) {
    feed.publish({ data: 'x'.repeat(100_000) })
    if (number % 10 === 0) await sleep(5)
  }
  await sleep(100)
  expect(queued).toBeGreaterThan(0)
  expect(queued).toBeLessThan(250_000)
  expect(feed.size).toBe(1)
  const startedAt = performance.now()
  await feed.end({ graceMs: 300 })
  expect(performance.now() - startedAt).toBeLessThan(2_000)
  expect(feed.size).toBe(0)
  server.close()
  await once(server, 'close')
  expect(feed.subscribe(undefined)).toMatchObject({ status: 503, headers: { 'Retry-After': '2' } })
  sent.destroy()
})
