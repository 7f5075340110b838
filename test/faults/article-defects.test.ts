import { ResilientSse } from 'resilient-sse'
import { cut, FaultServer, flapping, raw, reset, send, silence, stay } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { Relay } from './relay.ts'
import { dataOf, expectDials, FAST, idsOf, sleep, take, Witness } from './support.ts'

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
