import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { ResilientSse } from 'resilient-sse'
import {
  cut,
  cutInside,
  end,
  FaultServer,
  flapping,
  follow,
  ignoreId,
  raw,
  replay,
  reset,
  rest,
  retry,
  send,
  silence,
  stay,
  wait,
} from 'resilient-sse/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Relay } from './relay.ts'
import { dataOf, expectDials, FAST, idsOf, QUICK_RETRY, sleep, take, until, Witness } from './support.ts'

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

describe('an address change', () => {
  const networkInterfaces = os.networkInterfaces
  afterEach(() => {
    vi.useRealTimers()
    os.networkInterfaces = networkInterfaces
    syncBuiltinESMExports()
  })

  /** The sockets are real, the clock of the watchdog is not: seconds of silence pass in no time. */
  const stopTheClock = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })

  test('a path that died is probed after 10 s of silence and given up after 13 s, by default', async () => {
    await using server = await FaultServer.start({ log: { count: 2 }, script: [[send(1), silence()]] })
    stopTheClock()
    const witness = new Witness()
    const probes: { at: number; signal: AbortSignal }[] = []
    const stream = new ResilientSse(server.url, {
      backoff: { baseMs: 20 },
      heartbeat: { probe: { send: signal => probes.push({ at: performance.now(), signal }) } },
      onLifecycle: witness.onLifecycle,
    })
    const iterator = stream[Symbol.asyncIterator]()
    expect((await iterator.next()).value?.id).toBe(server.log.idAt(0))
    const silentSince = performance.now()
    const next = iterator.next()

    await vi.advanceTimersByTimeAsync(9_600)
    expect(witness.of('stall')).toEqual([])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(witness.of('stall')).toMatchObject([{ phase: 'probe' }])
    expect(probes).toHaveLength(1)
    expect((probes[0]?.at ?? 0) - silentSince).toBeGreaterThanOrEqual(10_000)
    expect(probes[0]?.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(server.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1_400)
    expect((await next).value?.id).toBe(server.log.idAt(1))

    const [, dead] = witness.of('stall')
    expect(dead?.phase).toBe('dead')
    expect(dead?.silentMs).toBeGreaterThanOrEqual(13_000)
    expect(dead?.silentMs).toBeLessThan(13_700)
    expect(probes[0]?.signal.aborted).toBe(true)
    expectDials(server.requests, [undefined, server.log.idAt(0)])
    await iterator.return?.()
  })

  test('a server that answers the probe is left alone', async () => {
    await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [follow()] })
    stopTheClock()
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      heartbeat: { probe: { send: () => server.push({ id: 'pong', data: 'pong' }) } },
      onLifecycle: witness.onLifecycle,
    })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const next = iterator.next()
    await vi.advanceTimersByTimeAsync(10_600)
    expect((await next).value?.id).toBe('pong')
    expect(witness.of('stall')).toMatchObject([{ phase: 'probe' }])
    expect(witness.of('drop')).toEqual([])
    expectDials(server.requests, [undefined])
    await iterator.return?.()
  })

  test('an own address that is gone in two looks 2 s apart shrinks the patience to 5 s', async () => {
    const addresses = (...list: string[]) => {
      os.networkInterfaces = () => ({ eth0: list.map(address => ({ address })) }) as never
      syncBuiltinESMExports()
    }
    addresses('192.0.2.7', '192.0.2.8')
    await using server = await FaultServer.start({ log: { count: 2 }, script: [[send(1), silence()]] })
    stopTheClock()
    const witness = new Witness()
    const stream = new ResilientSse(server.url, { backoff: { baseMs: 20 }, onLifecycle: witness.onLifecycle })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const next = iterator.next()
    await vi.advanceTimersByTimeAsync(20_000)
    expect(witness.of('stall')).toEqual([])

    addresses('192.0.2.8')
    await vi.advanceTimersByTimeAsync(6_100)
    expect(witness.of('stall')).toMatchObject([{ phase: 'hint' }])
    await vi.advanceTimersByTimeAsync(6_100)
    expect((await next).value?.id).toBe(server.log.idAt(1))
    expect(witness.of('stall')).toMatchObject([{ phase: 'hint' }, { phase: 'dead' }])
    expectDials(server.requests, [undefined, server.log.idAt(0)])
    await iterator.return?.()
  })
})

describe("the defects of the article's own code do not come back", () => {
  test('a watchdog that closes a silent connection also opens the next one', async () => {
    await using server = await FaultServer.start({
      log: { count: 4 },
      script: [
        [send(2), silence()],
        [send(1), silence()],
      ],
    })
    const events = await take(new ResilientSse(server.url, FAST), 4)
    expect(events).toHaveLength(4)
    expectDials(server.requests, [undefined, server.log.idAt(1), server.log.idAt(2)])
  })

  test('the id is stored after the handler, so that an event whose handler threw comes again', async () => {
    await using server = await FaultServer.start({ log: { count: 5 } })
    const saved: string[] = []
    const store = { load: () => undefined, save: (id: string) => void saved.push(id) }
    const stream = new ResilientSse(server.url, { ...FAST, resume: { store } })
    let handled = 0
    const loop = async () => {
      for await (const _ of stream) if (++handled === 3) throw new Error('the handler failed')
    }
    await expect(loop()).rejects.toThrow('the handler failed')
    await stream.close()
    expect(saved.at(-1)).toBe(server.log.idAt(1))
    const again = new ResilientSse(server.url, {
      ...FAST,
      resume: { store: { load: () => saved.at(-1), save() {} } },
    })
    expect(idsOf(await take(again, 1))).toEqual([server.log.idAt(2)])
    expectDials(server.requests, [undefined, server.log.idAt(1)])
  })

  test('a connection that opens and dies at once does not reset the delay', async () => {
    await using server = await FaultServer.start({ log: { count: 0 }, otherwise: flapping('greeting') })
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      ...FAST,
      backoff: { baseMs: 20, jitter: 0 },
      onLifecycle: witness.onLifecycle,
    })
    await take(stream, 5)
    expect(witness.of('wait').map(({ delayMs }) => delayMs)).toEqual([20, 40, 80, 160])
    expectDials(server.requests, Array(5).fill(undefined))
  })

  test('one failure leads to one dial, never to two that race', async () => {
    await using server = await FaultServer.start({ log: { count: 30 }, otherwise: [send(3), reset()] })
    const witness = new Witness()
    await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 30)
    await sleep(100)
    const flow = witness.types.filter(type => type === 'dial' || type === 'drop')
    expect(flow).toEqual(['dial', ...Array(9).fill(['drop', 'dial']).flat()])
    expectDials(server.requests, [
      undefined,
      ...Array.from({ length: 9 }, (_, n) => server.log.idAt(3 * n + 2)),
    ])
  })

  test('events of any type are heard, not only messages', async () => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [
        [
          raw('event: price\nid: 1\ndata: 7\n\nevent: error\nid: 2\ndata: oops\n\nid: 3\ndata: plain\n\n'),
          stay(),
        ],
      ],
    })
    const events = await take(new ResilientSse(server.url, FAST), 3)
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ['price', '7'],
      ['error', 'oops'],
      [undefined, 'plain'],
    ])
    expectDials(server.requests, [undefined])
  })

  test('events without an id are delivered, however many, and on each connection', async () => {
    const body = 'id: 1\ndata: a\n\ndata: b\n\ndata: b\n\ndata: c\n\n'
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [
        [raw(body), cut()],
        [raw('data: b\n\ndata: d\n\n'), stay()],
      ],
    })
    const events = await take(new ResilientSse(server.url, FAST), 6)
    expect(dataOf(events)).toEqual(['a', 'b', 'b', 'c', 'b', 'd'])
    expectDials(server.requests, [undefined, '1'])
  })

  test('jitter spreads the delays of the very first retry', async () => {
    const delays = new Set<number>()
    await using server = await FaultServer.start({ log: { count: 2 }, otherwise: [send(1), cut()] })
    for (let n = 0; n < 12; n++) {
      const witness = new Witness()
      const stream = new ResilientSse(server.url, {
        backoff: { baseMs: 60 },
        onLifecycle: witness.onLifecycle,
      })
      await take(stream, 2)
      for (const { delayMs } of witness.of('wait')) delays.add(delayMs)
    }
    expect(delays.size).toBeGreaterThan(5)
    expect(Math.max(...delays)).toBeLessThanOrEqual(60)
    expectDials(
      server.requests,
      Array(12)
        .fill([undefined, server.log.idAt(0)])
        .flat(),
    )
  })

  test('one space after the colon is eaten, and no more', async () => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [[raw('data:   three\ndata:none\ndata: \tone\n\n'), stay()]],
    })
    expect(dataOf(await take(new ResilientSse(server.url, FAST), 1))).toEqual(['  three\nnone\n\tone'])
    expectDials(server.requests, [undefined])
  })

  test('nothing is ever written to the stream after the request: a ping over SSE is impossible', async () => {
    await using server = await FaultServer.start({ log: { count: 3 }, otherwise: [send(3), silence()] })
    await using relay = await Relay.start(server.port)
    let probes = 0
    const stream = new ResilientSse(relay.url, {
      backoff: { baseMs: 20 },
      heartbeat: { timeoutMs: 300, probe: { afterMs: 50, timeoutMs: 200, send: () => void probes++ } },
    })
    setTimeout(() => stream.close(), 450)
    await take(stream, 10)
    expect(probes).toBeGreaterThan(0)
    const [, ...afterHeads] = relay.fromClients.split('\r\n\r\n')
    expect(afterHeads.filter(text => text !== '' && !text.startsWith('GET '))).toEqual([])
    expectDials(server.requests, server.requests.length === 1 ? [undefined] : [undefined, server.log.idAt(2)])
  })
})
