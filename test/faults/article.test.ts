import { ResilientSse } from 'resilient-sse'
import {
  cut,
  cutInside,
  end,
  FaultServer,
  follow,
  ignoreId,
  raw,
  replay,
  reset,
  rest,
  retry,
  send,
  stay,
  wait,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { Relay } from './relay.ts'
import { dataOf, expectDials, FAST, idsOf, QUICK_RETRY, take, until, Witness } from './support.ts'

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => String(first + i))

describe('what the article lived through', () => {
  test('a load balancer that resets an idle connection costs one redial and no event', async () => {
    await using server = await FaultServer.start({
      log: { count: 10 },
      script: [[send(5), wait(200), reset()]],
    })
    const witness = new Witness()
    const events = await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 10)
    expect(dataOf(events)).toEqual(Array.from({ length: 10 }, (_, i) => server.log.at(i).data))
    expect(witness.of('drop')).toMatchObject([
      { reason: 'network', opened: true, events: 5, discardedChars: 0 },
    ])
    expectDials(server.requests, [undefined, server.log.idAt(4)])
  })

  test('67 events sent into a half-open connection (1823 seen, 1824 to 1890 swallowed) all arrive once', async () => {
    await using server = await FaultServer.start({
      log: { count: 1, ids: { start: 1823 } },
      otherwise: [follow()],
    })
    await using relay = await Relay.start(server.port)
    const witness = new Witness()
    const stream = new ResilientSse(relay.url, {
      ...FAST,
      resume: { isNext: 'decimal' },
      onLifecycle: witness.onLifecycle,
    })
    const ids: (string | undefined)[] = []
    for await (const event of stream) {
      if (ids.push(event.id) === 1) await sendInto(server, relay)
      if (ids.length === 68) break
    }
    expect(ids).toEqual(range(1823, 1890))
    expect(relay.swallowedBytes).toBeGreaterThan(67 * 10)
    expect(witness.of('stall')).toMatchObject([{ phase: 'dead' }])
    expect(witness.of('gap')).toEqual([])
    expectDials(server.requests, [undefined, '1823'])
    expect(server.requests.map(({ eventsWritten }) => eventsWritten)).toEqual([68, 67])
  })

  test('of 67 swallowed events with 1824 to 1850 evicted, the rest arrives and exactly one gap is told', async () => {
    await using server = await FaultServer.start({
      log: { count: 1, ids: { start: 1823 } },
      otherwise: [follow()],
    })
    await using relay = await Relay.start(server.port)
    const witness = new Witness()
    const stream = new ResilientSse(relay.url, {
      ...FAST,
      resume: { isNext: 'decimal' },
      onLifecycle: witness.onLifecycle,
    })
    const ids: (string | undefined)[] = []
    for await (const event of stream) {
      if (ids.push(event.id) === 1) {
        await sendInto(server, relay)
        server.log.forget(28)
      }
      if (ids.length === 41) break
    }
    expect(ids).toEqual(['1823', ...range(1851, 1890)])
    expect(witness.of('gap')).toMatchObject([{ reason: 'missing', after: '1823', before: '1851' }])
    expectDials(server.requests, [undefined, '1823'])
  })

  test('50,000 old events from a server that ignores Last-Event-ID are dropped, with room for 10,000 ids', async () => {
    await using server = await FaultServer.start({
      log: { count: 50_000, bytes: 20 },
      script: [
        [rest(), cut()],
        [ignoreId(), follow()],
      ],
    })
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      ...FAST,
      dedupe: { capacity: 10_000 },
      onLifecycle: witness.onLifecycle,
    })
    const seen = new Set<string>()
    let doubled = 0
    let count = 0
    for await (const { id = '' } of stream) {
      if (seen.has(id)) doubled++
      seen.add(id)
      if (++count === 50_000) server.push({ id: 'news', data: 'news' })
      if (id === 'news') break
    }
    expect(doubled).toBe(0)
    expect(count).toBe(50_001)
    expect(server.requests[1]?.eventsWritten).toBe(50_001)
    expect(stream.stats().dedupe.duplicates).toBe(50_000)
    expect(witness.of('gap').map(({ reason }) => reason)).toEqual(['cursor-ignored'])
    expectDials(server.requests, [undefined, server.log.idAt(49_999)])
  })

  test('a block that was never ended by a blank line, and a close without an error, lose nothing', async () => {
    await using server = await FaultServer.start({
      log: { count: 3 },
      script: [[send(1), retry(QUICK_RETRY), raw('id: unfinished\ndata: half a thought\n'), end()]],
    })
    const witness = new Witness()
    const events = await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 3)
    expect(idsOf(events)).toEqual([0, 1, 2].map(index => server.log.idAt(index)))
    expect(witness.of('drop')).toMatchObject([{ reason: 'end', opened: true }])
    expect(witness.of('drop')[0]?.discardedChars).toBeGreaterThan(10)
    expectDials(server.requests, [undefined, server.log.idAt(0)])
  })

  test('events that a server sends again after a reconnect are delivered once, and told', async () => {
    await using server = await FaultServer.start({
      log: { count: 20 },
      script: [
        [send(10), cut()],
        [replay({ overlap: 4 }), rest(), stay()],
      ],
    })
    const witness = new Witness()
    const events = await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 20)
    expect(idsOf(events)).toEqual(Array.from({ length: 20 }, (_, index) => server.log.idAt(index)))
    expect(witness.of('duplicate')).toMatchObject([
      { count: 4, firstId: server.log.idAt(6), lastId: server.log.idAt(9) },
    ])
    expectDials(server.requests, [undefined, server.log.idAt(9)])
  })

  test.each(['fin', 'rst'] as const)(
    'a chunked stream that is cut in the middle of an event (%s) is resumed before it',
    async by => {
      await using server = await FaultServer.start({
        log: { count: 10, bytes: 5_000 },
        script: [[send(6), cutInside('event', { by })]],
      })
      const witness = new Witness()
      const events = await take(
        new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }),
        10,
      )
      expect(dataOf(events)).toEqual(Array.from({ length: 10 }, (_, index) => server.log.at(index).data))
      expect(witness.of('drop')).toMatchObject([{ reason: 'network', opened: true, events: 6 }])
      expectDials(server.requests, [undefined, server.log.idAt(5)])
    },
  )
})

/** Everything up to 1890 is written by the server and swallowed on the way. */
async function sendInto(server: FaultServer, relay: Relay): Promise<void> {
  relay.swallow()
  for (const id of range(1824, 1890)) server.push({ id, data: `event ${id}` })
  await until(() => server.requests[0]?.eventsWritten === 68, 'the server has written 68 events')
}
