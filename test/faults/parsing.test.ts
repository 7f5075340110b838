import { ResilientSse } from 'resilient-sse'
import {
  cut,
  dribble,
  end,
  FaultServer,
  raw,
  rawBytes,
  type Step,
  send,
  silence,
  stay,
  wait,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { expectDials, FAST, failure, sleep, take, until, Witness } from './support.ts'

type Expected = [data: string, id?: string | undefined, event?: string]

interface Case {
  name: string
  body: Step[]
  events: Expected[]
  /** Last-Event-ID of the dial after the cut. */
  resumes?: string
}

const utf8 = (text: string) => rawBytes([...Buffer.from(text)])
const BOM = [0xef, 0xbb, 0xbf]
/** Pieces with a pause between them, so that each is a read of its own. */
const pieces = (...texts: string[]): Step[] => texts.flatMap(text => [raw(text), wait(10)])

const CASES: Case[] = [
  {
    name: 'a CRLF that is split over two reads ends one line, not two',
    body: pieces('data: A\r\n', 'data: B\r', '\n', 'data: C\r\n\n'),
    events: [['A\nB\nC']],
  },
  {
    name: 'a lone LF after a CR that ended an event is part of that line end',
    body: pieces('id: 1\rdata: event 1\r\r', '\ndata: event 2\r\n\r', '\ndata: event 3\n\n'),
    events: [['event 1', '1'], ['event 2'], ['event 3']],
    resumes: '1',
  },
  {
    name: 'an id with NUL is ignored and the one before it stays',
    body: [raw('id: 1\nid: 2\0\ndata: x\n\n')],
    events: [['x', '1']],
    resumes: '1',
  },
  {
    name: 'one BOM at the start of the stream is dropped, a later one makes an unknown field',
    body: [rawBytes(BOM), utf8('data:1\n\n'), rawBytes(BOM), utf8('data:2\n\ndata:3\n\n')],
    events: [['1'], ['3']],
  },
  {
    name: 'a BOM that comes byte by byte is a BOM',
    body: [...BOM.flatMap(byte => [rawBytes([byte]), wait(10)]), utf8('data:1\n\n')],
    events: [['1']],
  },
  {
    name: 'of two BOMs the second belongs to the line',
    body: [rawBytes([...BOM, ...BOM]), utf8('data:1\n\ndata:2\n\n')],
    events: [['2']],
  },
  {
    name: 'a BOM in data is data',
    body: [utf8('data: \uFEFFx\n\n')],
    events: [['\uFEFFx']],
  },
  {
    name: 'characters that come one byte at a time arrive whole',
    body: [dribble(), raw('id: é\ndata: €豆腐😀\n\n')],
    events: [['€豆腐😀', 'é']],
    resumes: 'é',
  },
  {
    name: 'half a character of a dead connection does not leak into the next one',
    body: [raw('data: ok\n\ndata: '), rawBytes([0xe2, 0x82])],
    events: [['ok']],
  },
  {
    name: 'bytes that are not UTF-8 become U+FFFD and nothing breaks',
    body: [raw('data: a'), rawBytes([0xff, 0xc3]), raw('b\n\n')],
    events: [['a\uFFFD\uFFFDb']],
  },
  {
    name: 'empty data is an event, with a colon and without',
    body: [raw('data:\n\ndata\n\ndata\ndata\n\ndata:\ndata:\n\n')],
    events: [[''], [''], ['\n'], ['\n']],
  },
  {
    name: 'comments and blank lines are no events',
    body: [raw(':\n\n\n\n: hello\n\n:\n\ndata: x\n\n')],
    events: [['x']],
  },
  {
    name: 'a block of nothing but an id moves the cursor',
    body: [raw('id: 6\ndata: x\n\nid: 7\n\n')],
    events: [['x', '6']],
    resumes: '7',
  },
  {
    name: 'a block of nothing but an id moves the cursor of a stream that has seen no event',
    body: [raw('id: 7\n\n')],
    events: [],
    resumes: '7',
  },
  {
    name: 'an event without an id keeps the cursor',
    body: [raw('id: 1\ndata: a\n\ndata: b\n\n')],
    events: [['a', '1'], ['b']],
    resumes: '1',
  },
  {
    name: 'an empty id resets the cursor, and no header is sent',
    body: [raw('id: 1\ndata: a\n\nid:\ndata: 2\n\n')],
    events: [
      ['a', '1'],
      ['2', ''],
    ],
  },
  {
    name: 'an event that was cut off is dropped together with its id',
    body: [raw('id: a\ndata: x\n\nid: def\ndata: Goodb')],
    events: [['x', 'a']],
    resumes: 'a',
  },
  {
    name: 'an event that lacks only its blank line is dropped, too',
    body: [raw('id: a\ndata: x\n\nid: b\ndata: y\n')],
    events: [['x', 'a']],
    resumes: 'a',
  },
  {
    name: 'an event type lasts for one event',
    body: [raw('event: add\ndata: 1\n\ndata: 2\n\nevent:\ndata: 3\n\n')],
    events: [['1', undefined, 'add'], ['2'], ['3']],
  },
  {
    name: 'unknown fields, fields without a colon and colons in values are harmless',
    body: [raw('dat: no\nDATA: no\nfoo\ndata: a:b: c\n:data: no\n\n')],
    events: [['a:b: c']],
  },
]

test.each(CASES)('$name', async ({ body, events, resumes }) => {
  await using server = await FaultServer.start({
    log: { count: 0 },
    script: [
      [...body, cut()],
      [raw('id: last\ndata: last\n\n'), stay()],
    ],
  })
  const received = await take(new ResilientSse(server.url, FAST), events.length + 1)
  const shown = received.map(({ data, id, event }) => ({ data, id, event }))
  const expected = [...events, ['last', 'last'] satisfies Expected].map(([data, id, event]) => ({
    data,
    id,
    event,
  }))
  // An empty type stands for the standard's message, like none.
  expect(shown.map(one => ({ ...one, event: one.event || undefined }))).toEqual(expected)
  expectDials(server.requests, [undefined, resumes])
})

test('the last event of a stream that ends its lines with CR is delivered at once', async () => {
  await using server = await FaultServer.start({
    log: { count: 0 },
    script: [[raw('data: event 1\r\r'), silence()]],
  })
  const startedAt = performance.now()
  expect(await take(new ResilientSse(server.url), 1)).toMatchObject([{ data: 'event 1' }])
  expect(performance.now() - startedAt).toBeLessThan(5_000)
  expectDials(server.requests, [undefined])
})

test('lastEventId is that of the stream, also at an event that has none', async () => {
  await using server = await FaultServer.start({
    log: { count: 0 },
    script: [
      [raw('id: 1\ndata: a\n\ndata: b\n\nid:\ndata: c\n\ndata: d\n\nid: 2\n\nid: 3\ndata: e\n\n'), stay()],
    ],
  })
  const stream = new ResilientSse(server.url, FAST)
  const ids: (string | undefined)[] = []
  for await (const { data } of stream) {
    ids.push(stream.lastEventId)
    if (data === 'e') break
  }
  expect(ids).toEqual(['1', '1', '', '', '3'])
  expectDials(server.requests, [undefined])
})

describe('retry:', () => {
  test.each<[string, 'backoff' | 'retry', number?]>([
    ['1000x', 'backoff'],
    ['', 'backoff'],
    ['-1', 'backoff'],
    ['1.5', 'backoff'],
    ['1e3', 'backoff'],
    ['+5', 'backoff'],
    [' 5', 'backoff'],
    ['03000', 'retry', 3_000],
    ['0', 'retry', 100],
    ['99999999999', 'retry', 3_600_000],
    ['9'.repeat(400), 'retry', 3_600_000],
  ])('%s is taken as %s', async (value, reason, floorMs = 0) => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [[raw(`retry: ${value}\n\ndata: x\n\n`), cut()]],
    })
    const witness = new Witness()
    const stream: ResilientSse = new ResilientSse(server.url, {
      ...FAST,
      onLifecycle: event => {
        witness.onLifecycle(event)
        if (event.type === 'wait') void stream.close()
      },
    })
    await take(stream, 2)
    expect(witness.of('wait')).toMatchObject([{ reason }])
    const delayMs = witness.of('wait')[0]?.delayMs ?? 0
    expect(delayMs).toBeGreaterThanOrEqual(floorMs)
    expect(delayMs).toBeLessThanOrEqual(reason === 'retry' ? 2 * floorMs : 20)
    expectDials(server.requests, [undefined])
  })

  test.each(['99999999999', '9'.repeat(400)])(
    'of %s does not overflow a timer: one dial, then a long wait',
    async value => {
      await using server = await FaultServer.start({
        log: { count: 0 },
        otherwise: [raw(`retry: ${value}\nid: 1\ndata: x\n\n`), end()],
      })
      const stream = new ResilientSse(server.url, FAST)
      const loop = take(stream, 2)
      await sleep(400)
      expectDials(server.requests, [undefined])
      await stream.close()
      expect(await loop).toHaveLength(1)
    },
  )
})

describe('more than maxEventChars', () => {
  test.each<[string, Step[]]>([
    ['in one line that ends', [raw(`data: ${'x'.repeat(1_001)}\n\n`)]],
    ['in one line that does not', [raw(`data: ${'x'.repeat(2_000)}`)]],
    ['in many lines', [raw('data: 123456789\n'.repeat(101)), raw('\n')]],
    ['in a comment', [raw(`:${'x'.repeat(2_000)}`)]],
    ['in an id', [raw(`id: ${'x'.repeat(2_000)}`)]],
    ['in pieces', [dribble({ bytes: 100 }), raw(`data: ${'x'.repeat(2_000)}`)]],
  ])('%s ends the stream after the events before it', async (_, body) => {
    await using server = await FaultServer.start({ log: { count: 2 }, otherwise: [send(2), ...body, stay()] })
    const { error, events } = await failure(new ResilientSse(server.url, { ...FAST, maxEventChars: 1_000 }))
    expect(error).toMatchObject({ code: 'ERR_SSE_EVENT_TOO_LARGE', retryable: false })
    expect(events).toHaveLength(2)
    await until(() => server.openSockets === 0, 'the socket is free', 1_000)
    expectDials(server.requests, [undefined])
  })
})
