import { describe, expect, test } from 'vitest'
import type { SseEvent } from '../src/event.ts'
import { DEDUPE_DEFAULTS, Dedupe, type ResolvedDedupe } from '../src/layers/dedupe.ts'
import { ReplayDetector } from '../src/layers/replay.ts'
import { Sieve } from '../src/sieve.ts'

const event = (id: string | number, data = `data of ${id}`): SseEvent => ({ id: String(id), data })
const events = (from: number, to: number): SseEvent[] =>
  Array.from({ length: to - from + 1 }, (_, index) => event(from + index))

/** A stream's layer 5, driven connection by connection. */
class Stream {
  readonly sieve: Sieve
  cursor: string | undefined
  gaps: string[] = []
  dropped = 0

  constructor(options: Partial<ResolvedDedupe> = {}) {
    this.sieve = new Sieve(new Dedupe({ ...DEDUPE_DEFAULTS, ...options }), new ReplayDetector())
  }

  seed(id: string): void {
    this.sieve.seed(id)
    this.cursor = id
  }

  /** One connection that brings `sent`, resumed at the cursor; what is delivered. */
  connection(sent: SseEvent[], { readSize = 10, asked = this.cursor !== undefined } = {}): SseEvent[] {
    this.sieve.connected(this.cursor, asked)
    const delivered: SseEvent[] = []
    for (let from = 0; from < sent.length; from += readSize) {
      const read = sent.slice(from, from + readSize)
      const { batch, dropped, gaps } = this.sieve.sift({ events: read, cursorMoves: [] })
      delivered.push(...batch.events)
      this.dropped += dropped.length
      this.gaps.push(...gaps.map(({ reason, before }) => `${reason} ${before}`))
      this.cursor = read.findLast(({ id }) => id !== undefined)?.id ?? this.cursor
    }
    return delivered
  }
}

const ids = (delivered: SseEvent[]) => delivered.map(({ id }) => id)

describe('a server that ignores the cursor and replays everything', () => {
  test('has 50,000 old events dropped by a set of 10,000 ids, and none is delivered twice', () => {
    const stream = new Stream({ capacity: 10_000 })
    stream.connection(events(1, 50_000), { readSize: 500 })
    expect(ids(stream.connection(events(1, 50_010), { readSize: 500 }))).toEqual(ids(events(50_001, 50_010)))
    expect(stream.dropped).toBe(50_000)
    expect(stream.gaps).toEqual(['cursor-ignored 2'])
  })

  test('has them dropped again on each further connection', () => {
    const stream = new Stream({ capacity: 100 })
    stream.connection(events(1, 1_000))
    for (let end = 1_010; end <= 1_050; end += 10) {
      expect(ids(stream.connection(events(1, end)))).toEqual(ids(events(end - 9, end)))
    }
    expect(stream.gaps).toHaveLength(5)
  })

  test('is no gap when the request carried no id: it was not asked for anything else', () => {
    const stream = new Stream()
    stream.connection(events(1, 50))
    expect(ids(stream.connection(events(1, 52), { asked: false }))).toEqual(['51', '52'])
    expect(stream.gaps).toEqual([])
  })
})

test('a full replay after the server emptied the cursor ends with the last event that came with an id', () => {
  const stream = new Stream({ capacity: 1 })
  stream.connection([...events(1, 3), event('')])
  expect(ids(stream.connection([...events(1, 3), event(''), ...events(4, 5)], { asked: false }))).toEqual([
    '',
    '4',
    '5',
  ])
})

test('a full replay after a block without data moved the cursor ends with the last event that came with an id', () => {
  const stream = new Stream({ capacity: 1 })
  stream.connection([...events(1, 3), { data: 'without id' }, { data: 'nor this' }])
  stream.cursor = 'an id without data'
  expect(ids(stream.connection(events(1, 5)))).toEqual(['4', '5'])
})

test('a replay that is one event longer than the capacity is dropped whole', () => {
  const stream = new Stream({ capacity: 100 })
  stream.connection([event('first'), ...events(1, 100)])
  expect(ids(stream.connection([...events(1, 100), event(101)], { readSize: 1 }))).toEqual(['101'])
})

test('an overlap is dropped without a gap', () => {
  const stream = new Stream()
  stream.connection(events(1, 100))
  expect(ids(stream.connection(events(96, 103)))).toEqual(['101', '102', '103'])
  expect(stream.gaps).toEqual([])
})

test('an empty event as a greeting, ahead of the cursor’s own event, is no place of its own', () => {
  const stream = new Stream()
  stream.connection(events(1, 10))
  expect(ids(stream.connection([event('hello-2', ''), ...events(10, 11)]))).toEqual(['hello-2', '11'])
  expect(stream.gaps).toEqual([])
})

test('a server that starts at a place of its own, before the cursor, is told as a gap', () => {
  const stream = new Stream()
  stream.connection(events(51, 100))
  // 49 and 50 were never delivered; the cursor's own event comes after them.
  expect(ids(stream.connection([...events(49, 100), event(101)]))).toEqual(['49', '50', '101'])
  expect(stream.gaps).toEqual(['cursor-ignored 100'])
})

test('a greeting that opens each connection is no full replay: nothing after it is lost', () => {
  const greeting = event('hello', 'welcome')
  const stream = new Stream()
  stream.connection([greeting, ...events(1, 40)])
  for (let from = 41; from < 100; from += 10) {
    expect(ids(stream.connection([greeting, ...events(from, from + 9)]))).toEqual(ids(events(from, from + 9)))
  }
  expect(stream.gaps).toEqual([])
})

test('a greeting with an id that repeats and data that does not passes each time', () => {
  const stream = new Stream()
  for (let connection = 1; connection <= 3; connection++) {
    const sent = [event('hello', `you are ${connection}`), event(`n${connection}`)]
    expect(stream.connection(sent)).toEqual(sent)
  }
})

describe('a server that numbers each response from 1', () => {
  test('has all its events delivered, and the gap is told at the first one', () => {
    const stream = new Stream()
    stream.connection(events(1, 20))
    const anew = Array.from({ length: 20 }, (_, index) => event(index + 1, `new ${index}`))
    expect(stream.connection(anew)).toEqual(anew)
    expect(stream.gaps).toEqual(['ids-reused 1'])
  })

  test('has all of them delivered, however many responses there are', () => {
    const stream = new Stream()
    for (let response = 1; response <= 5; response++) {
      const sent = Array.from({ length: 20 }, (_, index) => event(index + 1, `${response}: ${index}`))
      expect(stream.connection(sent)).toEqual(sent)
    }
    expect(stream.gaps).toEqual(Array(4).fill('ids-reused 1'))
  })

  test('has its next response deduplicated by what the ids mean now', () => {
    const stream = new Stream()
    stream.connection(events(1, 20))
    const anew = Array.from({ length: 20 }, (_, index) => event(index + 1, `new ${index}`))
    stream.connection(anew)
    expect(ids(stream.connection([...anew.slice(15), event(21)]))).toEqual(['21'])
    expect(stream.gaps).toEqual(['ids-reused 1'])
  })
})

describe("with by: 'id+data'", () => {
  test('an id with other data is delivered, an exact copy is not', () => {
    const stream = new Stream({ by: 'id+data' })
    stream.connection(Array.from({ length: 100 }, (_, index) => event('same', `nr ${index}`)))
    const sent = [event('same', 'nr 98'), event('same', 'nr 99'), event('same', 'nr 100')]
    expect(stream.connection(sent)).toEqual([sent[2]])
  })
})

test('a seed is known, and its event is dropped on the very first connection', () => {
  const stream = new Stream()
  stream.seed('5')
  expect(ids(stream.connection(events(5, 7)))).toEqual(['6', '7'])
  expect(stream.gaps).toEqual([])
})

test('events without ids always pass, also in the middle of a replay', () => {
  const stream = new Stream()
  stream.connection(events(1, 10))
  const bare: SseEvent = { data: 'bare' }
  expect(stream.connection([event(9), bare, event(10), bare, event(11)])).toEqual([bare, bare, event(11)])
})

test('a dropped duplicate leaves the cursor where it is, the cursor’s own event takes it back there; a block without data keeps its place', () => {
  const { sieve } = new Stream()
  sieve.connected(undefined, false)
  sieve.sift({ events: events(1, 3), cursorMoves: [] })
  sieve.connected('3', true)
  const { batch } = sieve.sift({
    events: [event(2), event('a'), event(3), event('b')],
    cursorMoves: [{ id: 'block', at: 4 }],
  })
  expect(ids(batch.events)).toEqual(['a', 'b'])
  expect(batch.cursorMoves).toEqual([
    { id: '3', at: 1 },
    { id: 'block', at: 2 },
  ])
})

test('a block without data behind an event that has no id was replayed, too, when the next read shows a replay', () => {
  const sieve = new Stream().sieve
  sieve.connected(undefined, false)
  sieve.sift({ events: [{ data: 'no id' }, event(2), event(3)], cursorMoves: [{ id: '1', at: 1 }] })
  sieve.connected('3', true)
  const first = sieve.sift({ events: [{ data: 'no id' }], cursorMoves: [{ id: '1', at: 1 }] })
  expect(first.batch.cursorMoves).toEqual([{ id: '1', at: 1 }])
  const second = sieve.sift({ events: [event(2)], cursorMoves: [] })
  expect(second.batch).toEqual({ events: [], cursorMoves: [{ id: '3', at: 0 }] })
})

test('two gaps in one read are both told, in their order', () => {
  const stream = new Stream()
  stream.connection(events(1, 5))
  stream.connection([event(1), event(2), event(3, 'other'), event(4, 'other')])
  expect(stream.gaps).toEqual(['cursor-ignored 2', 'ids-reused 3'])
})

test('blocks without data in the middle of a replay move no cursor, not even for a moment', () => {
  const { sieve } = new Stream()
  sieve.connected(undefined, false)
  sieve.sift({ events: events(1, 3), cursorMoves: [{ id: 'block', at: 1 }] })
  sieve.connected('3', true)
  const { batch } = sieve.sift({ events: events(1, 3), cursorMoves: [{ id: 'block', at: 1 }] })
  expect(batch).toEqual({ events: [], cursorMoves: [] })
})

test('a read without duplicates is handed on as it came, and nothing is copied', () => {
  const { sieve } = new Stream()
  sieve.connected(undefined, false)
  const first = { events: events(1, 3), cursorMoves: [] }
  expect(sieve.sift(first).batch).toBe(first)
  sieve.connected('3', true)
  const second = { events: events(4, 6), cursorMoves: [] }
  expect(sieve.sift(second).batch).toBe(second)
})
