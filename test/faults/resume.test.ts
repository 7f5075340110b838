import { ResilientSse } from 'resilient-sse'
import {
  cut,
  end,
  FaultServer,
  fromNow,
  type IdStyle,
  idOnly,
  ignoreId,
  numberAnew,
  raw,
  replay,
  rest,
  restart,
  retry,
  send,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { dataOf, expectDials, FAST, failure, idsOf, QUICK_RETRY, take, Witness } from './support.ts'

const all = (server: FaultServer) =>
  Array.from({ length: server.log.length }, (_, index) => server.log.at(index).data)

describe('ids of every kind resume a stream: nothing lost, nothing doubled', () => {
  /** `sends`: the id that a dial after the first `count` events carries. */
  const KINDS: [IdStyle & string, sends: 'each' | 'none'][] = [
    ['opaque', 'each'],
    ['uuid', 'each'],
    ['decimal', 'each'],
    ['duplicate', 'each'],
    // Header values are octets: the id goes as UTF-8, where `new Headers` throws on the text.
    ['non-latin-1', 'each'],
    // No header can carry these; the server starts over, and dedupe drops the overlap.
    ['control', 'none'],
    ['long', 'none'],
  ]
  test.each(KINDS)('%s', async (ids, sends) => {
    await using server = await FaultServer.start({
      log: { count: 24, ids },
      script: [[send(4), cut()], sends === 'each' ? [send(4), cut()] : [send(8), cut()]],
    })
    const events = await take(new ResilientSse(server.url, FAST), 24)
    expect(dataOf(events)).toEqual(all(server))
    expectDials(server.requests, [
      undefined,
      ...[3, 7].map(index => (sends === 'each' ? server.log.idAt(index) : undefined)),
    ])
  })

  test('an id that no header can carry is skipped for the newest one that can, and dedupe drops the overlap', async () => {
    await using server = await FaultServer.start({ log: { count: 0 }, script: [[rest(), cut()]] })
    for (const id of ['good', 'bad\x01', ' spaces ', 'x'.repeat(5_000)])
      server.push({ id, data: id.slice(0, 9) })
    const stream = new ResilientSse(server.url, FAST)
    const events = []
    for await (const { data } of stream) {
      events.push(data)
      if (events.length === 4) server.push({ id: 'next', data: 'next' })
      if (data === 'next') break
    }
    expect(events).toEqual(['good', 'bad\x01', ' spaces ', 'xxxxxxxxx', 'next'])
    expectDials(server.requests, [undefined, 'good'])
  })
})

describe('the cursor', () => {
  test('that was given is overridden by the ids that come', async () => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [
        [raw('id: 6\ndata: six\n\n'), cut()],
        [raw('id: 7\ndata: seven\n\n'), stay()],
      ],
    })
    const events = await take(new ResilientSse(server.url, { ...FAST, resume: { lastEventId: '5' } }), 2)
    expect(idsOf(events)).toEqual(['6', '7'])
    expectDials(server.requests, ['5', '6'])
  })

  test('that was given survives connections that bring nothing', async () => {
    await using server = await FaultServer.start({
      log: { count: 3 },
      script: [[retry(QUICK_RETRY), end()], [end()], [cut()]],
    })
    const id = server.log.idAt(0) as string
    const events = await take(new ResilientSse(server.url, { ...FAST, resume: { lastEventId: id } }), 2)
    expect(idsOf(events)).toEqual([server.log.idAt(1), server.log.idAt(2)])
    expectDials(server.requests, [id, id, id, id])
  })

  test('that an id-only block has moved is the next Last-Event-ID', async () => {
    await using server = await FaultServer.start({
      log: { count: 3 },
      script: [
        [send(1), idOnly('zzz'), cut()],
        [fromNow(), raw('id: z2\ndata: x\n\n'), stay()],
      ],
    })
    await take(new ResilientSse(server.url, FAST), 2)
    expectDials(server.requests, [undefined, 'zzz'])
  })

  test('goes into the query, too, where queryParameter says so', async () => {
    await using server = await FaultServer.start({ log: { count: 4 }, script: [[send(2), cut()]] })
    const url = `${server.url}?token=t`
    await take(new ResilientSse(url, { ...FAST, resume: { queryParameter: 'lastEventId' } }), 4)
    const id = server.log.idAt(1)
    expect(server.requests.map(request => request.url)).toEqual([
      '/events?token=t',
      `/events?token=t&lastEventId=${id}`,
    ])
    expectDials(server.requests, [undefined, id])
  })

  test('is stored for events that were handled, so that a crash repeats one and loses none', async () => {
    await using server = await FaultServer.start({ log: { count: 6 } })
    const saved: string[] = []
    const store = { load: () => saved.at(-1), save: (id: string) => void saved.push(id) }
    const seen: (string | undefined)[] = []
    for (let run = 0; run < 2; run++) {
      const stream = new ResilientSse(server.url, { ...FAST, resume: { store } })
      seen.push(...idsOf(await take(stream, 3)))
      await stream.close()
    }
    const id = (index: number) => server.log.idAt(index)
    expect(seen).toEqual([id(0), id(1), id(2), id(2), id(3), id(4)])
    expectDials(server.requests, [undefined, id(1)])
  })
})

describe('a server that sends old events again', () => {
  test.each([
    ['the last one (inclusive)', [replay({ overlap: 1 })], []],
    ['the last ten', [replay({ overlap: 10 })], []],
    ['all, as if it had not seen the id', [ignoreId()], ['cursor-ignored']],
  ] as const)('%s: each is delivered once', async (_, words, gaps) => {
    await using server = await FaultServer.start({
      log: { count: 30 },
      script: [
        [send(20), cut()],
        [...words, rest(), stay()],
      ],
    })
    const witness = new Witness()
    const events = await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 30)
    expect(dataOf(events)).toEqual(all(server))
    expect(witness.of('gap').map(({ reason }) => reason)).toEqual(gaps)
    expectDials(server.requests, [undefined, server.log.idAt(19)])
  })
})

describe('a gap is told', () => {
  test('no-cursor: the connection broke and no id was ever seen', async () => {
    await using server = await FaultServer.start({
      log: { count: 4, ids: 'none' },
      script: [
        [send(2), cut()],
        [{ do: 'startAt', index: 2 }, rest(), stay()],
      ],
    })
    const witness = new Witness()
    await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 4)
    expect(witness.of('gap')).toMatchObject([{ reason: 'no-cursor', after: undefined, before: undefined }])
    expectDials(server.requests, [undefined, undefined])
  })

  test('ids-reused: the server has restarted and numbers anew, and its events are delivered', async () => {
    await using server = await FaultServer.start({
      log: { count: 20, ids: 'decimal' },
      script: [[send(10), cut(), restart()]],
    })
    const witness = new Witness()
    const events = await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 10)
    expect(dataOf(events)).toEqual(all(server).slice(0, 10))
    expectDials(server.requests, [undefined])

    await using again = await FaultServer.start({
      log: { count: 12, ids: 'decimal' },
      script: [
        [send(3), cut()],
        [{ do: 'startAt', index: 3 }, numberAnew(), rest(), stay()],
      ],
    })
    const other = new Witness()
    const both = await take(new ResilientSse(again.url, { ...FAST, onLifecycle: other.onLifecycle }), 12)
    expect(dataOf(both)).toEqual(all(again))
    expect(other.of('gap').map(({ reason }) => reason)).toEqual(['ids-reused'])
    expectDials(again.requests, [undefined, '3'])
  })

  test('missing: isNext says that ids were skipped', async () => {
    await using server = await FaultServer.start({
      log: { count: 10, ids: 'decimal' },
      script: [[send(3), { do: 'skip', count: 2 }, send(1), cut()]],
    })
    const witness = new Witness()
    const events = await take(
      new ResilientSse(server.url, {
        ...FAST,
        resume: { isNext: 'decimal' },
        onLifecycle: witness.onLifecycle,
      }),
      8,
    )
    expect(idsOf(events)).toEqual(['1', '2', '3', '6', '7', '8', '9', '10'])
    expect(witness.of('gap')).toMatchObject([{ reason: 'missing', after: '3', before: '6' }])
    expectDials(server.requests, [undefined, '6'])
  })

  test('or thrown, with onGap: throw, after the events before it', async () => {
    await using server = await FaultServer.start({
      log: { count: 10, ids: 'decimal' },
      script: [[send(3), cut(), { do: 'forget', count: 6 }]],
    })
    const { error, events } = await failure(
      new ResilientSse(server.url, { ...FAST, resume: { isNext: 'decimal', onGap: 'throw' } }),
    )
    expect(error).toMatchObject({
      name: 'SseGapError',
      code: 'ERR_SSE_GAP',
      reason: 'missing',
      after: '3',
      before: '7',
    })
    expect(idsOf(events)).toEqual(['1', '2', '3'])
    expectDials(server.requests, [undefined, '3'])
  })
})
