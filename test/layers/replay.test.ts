import { describe, expect, test } from 'vitest'
import { ReplayDetector } from '../../src/layers/replay.ts'

interface Event {
  id: string
  data: string
}

const event = (id: string | number, data = `data of ${id}`): Event => ({ id: String(id), data })
const events = (from: number, to: number): Event[] =>
  Array.from({ length: to - from + 1 }, (_, index) => event(from + index))

/** A stream whose first connection brought these events, in reads of ten. */
function streamOf(...sent: Event[]): ReplayDetector {
  const detector = new ReplayDetector()
  detector.connected()
  deliver(detector, sent)
  return detector
}

function deliver(detector: ReplayDetector, sent: Event[]): void {
  for (let from = 0; from < sent.length; from += 10) detector.remember(sent.slice(from, from + 10))
}

/** The verdicts on a further connection. */
function verdicts(detector: ReplayDetector, sent: Event[]): string[] {
  detector.connected()
  return sent.map(one => detector.judge(one, one.id))
}

describe('a server that replays everything', () => {
  test('is recognised by the stream’s first events, until the cursor has come again', () => {
    const told = verdicts(streamOf(...events(1, 100)), events(1, 102))
    expect(told).toEqual([
      'replayed',
      'full-replay',
      ...Array.from({ length: 98 }, () => 'replayed'),
      'unknown',
      'unknown',
    ])
  })

  test('is recognised with more events than anybody remembers', () => {
    const told = verdicts(streamOf(...events(1, 5_000)), events(1, 5_001))
    expect(told.slice(0, 5_000)).not.toContain('unknown')
    expect(told.at(-1)).toBe('unknown')
  })

  test('ends with the last event that was delivered with an id, whatever events without one came beside it', () => {
    const idless = [
      { id: '', data: 'a' },
      { id: '', data: 'b' },
    ]
    const told = verdicts(streamOf(...events(1, 100), ...idless), events(1, 102))
    expect(told.slice(100)).toEqual(['unknown', 'unknown'])
  })

  test('is recognised again on the connection after it', () => {
    const detector = streamOf(...events(1, 100))
    verdicts(detector, events(1, 100))
    deliver(detector, events(101, 110))
    const told = verdicts(detector, events(1, 111))
    expect(told.indexOf('unknown')).toBe(110)
  })

  test('is not one that starts after the cursor, as asked', () => {
    expect(verdicts(streamOf(...events(1, 100)), events(101, 103))).toEqual(Array(3).fill('unknown'))
  })

  test('is not one that starts in the middle, or shortly before the end', () => {
    for (const sent of [events(40, 45), events(95, 100)]) {
      expect(verdicts(streamOf(...events(1, 100)), sent)).toEqual(Array(6).fill('unknown'))
    }
  })

  test('is not one whose connections all open with the same greeting', () => {
    const greeting = event('hello')
    const told = verdicts(streamOf(greeting, ...events(1, 100)), [greeting, ...events(101, 105)])
    expect(told.slice(1)).toEqual(Array(5).fill('unknown'))
  })

  test('is not one that goes on with old events after its greeting and something new', () => {
    const greeting = event('hello')
    const told = verdicts(streamOf(greeting, ...events(1, 100)), [greeting, event(101), event(1)])
    expect(told.slice(1)).toEqual(['unknown', 'unknown'])
  })

  test('is over with the last event, also when events without ids were delivered between', () => {
    const sent = events(1, 10).flatMap(one => [{ id: '', data: 'bare' }, one])
    const told = verdicts(streamOf(...sent), events(1, 12))
    expect(told.slice(0, 10)).not.toContain('unknown')
    expect(told.slice(10)).toEqual(['unknown', 'unknown'])
  })

  test('is expected from the first event of a later connection until an event says otherwise', () => {
    const detector = new ReplayDetector()
    detector.connected()
    expect(detector.expects).toBe(false)
    deliver(detector, events(1, 10))
    expect(detector.expects).toBe(false)
    detector.connected()
    expect(detector.expects).toBe(true)
    detector.judge(event(1), '1')
    expect(detector.expects).toBe(true)
    detector.judge(event(11), '11')
    expect(detector.expects).toBe(false)
  })

  test('is over when it is told that something new came', () => {
    const detector = streamOf(...events(1, 10))
    detector.connected()
    detector.judge(event(1), '1')
    detector.interrupt()
    expect(detector.expects).toBe(false)
    expect(detector.judge(event(2), '2')).toBe('unknown')
  })

  test('is not one whose greeting has other data each time', () => {
    const detector = streamOf(event('hello', 'you are 1'), ...events(1, 50))
    const told = verdicts(detector, [event('hello', 'you are 2'), ...events(51, 55)])
    expect(told).not.toContain('full-replay')
    expect(told.slice(1)).toEqual(Array(5).fill('unknown'))
  })

  test('is believed no longer than there were events to replay, when its log has lost the cursor', () => {
    const detector = streamOf(...events(1, 40))
    const told = verdicts(detector, [...events(1, 39), ...events(1_001, 1_020)])
    expect(told.slice(0, 39)).not.toContain('unknown')
    expect(told.slice(40)).toEqual(Array(19).fill('unknown'))
  })

  test('cannot be told when the whole stream was one event', () => {
    expect(verdicts(streamOf(event(1)), [event(1), event(2)])).toEqual(['unknown', 'unknown'])
  })
})

describe('a server that numbers anew', () => {
  test('is recognised by a known id with other data', () => {
    const told = verdicts(streamOf(...events(1, 10)), [event(1, 'new'), event(2, 'newer')])
    expect(told).toEqual(['reused', 'unknown'])
  })

  test('is recognised by the last 32 ids of the last connection', () => {
    const old = events(1, 200)
    expect(verdicts(streamOf(...old), [event(169, 'new')])).toEqual(['reused'])
    expect(verdicts(streamOf(...old), [event(168, 'new')])).toEqual(['unknown'])
  })

  test('is recognised by the last 32 ids, too, when thousands of events came before them', () => {
    const long = (from: number, to: number) => events(from, to).map(({ id }) => event(id, 'x'.repeat(200)))
    expect(verdicts(streamOf(...long(1, 5_000)), [event(4_969, 'new')])).toEqual(['reused'])
  })

  test('is recognised by fewer of the last ids when their data is long: 65,536 characters, and one event at least', () => {
    const ended = (chars: number, id: number) => {
      const sent = [...events(1, 40), ...events(41, 50).map(({ id }) => event(id, 'x'.repeat(chars)))]
      return verdicts(streamOf(...sent), [event(id, 'new')])
    }
    expect([ended(16_384, 47), ended(16_384, 46)]).toEqual([['reused'], ['unknown']])
    expect([ended(16_385, 48), ended(16_385, 47)]).toEqual([['reused'], ['unknown']])
    expect([ended(100_000, 50), ended(100_000, 49)]).toEqual([['reused'], ['unknown']])
  })

  test('is recognised by the first 32 ids of the last connection', () => {
    const detector = streamOf(...events(1, 200))
    verdicts(detector, [])
    deliver(detector, events(1_001, 1_200))
    expect(verdicts(detector, [event(1_032, 'new')])).toEqual(['reused'])
    const other = streamOf(...events(1, 200))
    verdicts(other, [])
    deliver(other, events(1_001, 1_200))
    expect(verdicts(other, [event(1_033, 'new')])).toEqual(['unknown'])
  })

  test('is recognised when long data differs in length, at its start or at its end', () => {
    const long = 'x'.repeat(5_000)
    const differsAt = (index: number) => `${long.slice(0, index)}y${long.slice(index + 1)}`
    for (const other of [`${long}x`, differsAt(0), differsAt(255), differsAt(4_744), differsAt(4_999)]) {
      expect(verdicts(streamOf(event(1, long), event(2)), [event(1, other)])).toEqual(['reused'])
    }
    // Between its ends long data is not kept.
    for (const other of [differsAt(256), differsAt(4_743)]) {
      expect(verdicts(streamOf(event(1, long), event(2)), [event(1, other)])).toEqual(['replayed'])
    }
  })

  test('is recognised wherever data of up to 512 characters differs', () => {
    const short = 'x'.repeat(512)
    for (let index = 0; index < 512; index++) {
      const other = `${short.slice(0, index)}y${short.slice(index + 1)}`
      expect(verdicts(streamOf(event(1, short), event(2)), [event(1, other)])).toEqual(['reused'])
    }
  })

  test('is recognised by the ids that it tells: those of both ends, less events without one', () => {
    const detector = streamOf(...events(1, 100), { id: '', data: 'bare' })
    detector.connected()
    const known = [...events(1, 32), ...events(70, 100)].map(({ id }) => id)
    expect(detector.ids()).toEqual(known)
  })

  test('is told once per connection', () => {
    const anew = events(1, 10).map(({ id }) => event(id, 'new'))
    const told = verdicts(streamOf(...events(1, 10)), anew)
    expect(told.filter(verdict => verdict === 'reused')).toHaveLength(1)
  })

  test('is not one that sends the same event again', () => {
    expect(verdicts(streamOf(...events(1, 10)), events(8, 11))).not.toContain('reused')
  })

  test('is not one whose id stood for two events before', () => {
    const detector = streamOf(event('x', 'a'), event('x', 'b'), ...events(1, 5))
    expect(verdicts(detector, [event('x', 'c')])).toEqual(['unknown'])
  })
})

test('nothing is suspected on a first connection, or before anything came', () => {
  const detector = new ReplayDetector()
  detector.connected()
  expect(detector.judge(event(1), '1')).toBe('unknown')
  expect(verdicts(new ReplayDetector(), events(1, 3))).toEqual(Array(3).fill('unknown'))
})

describe('a greeting, an event with an id and no data,', () => {
  test('that carries the id of an event proves nothing, whichever came first', () => {
    expect(verdicts(streamOf(...events(1, 3)), [event(3, ''), event(3), event(4)])).toEqual(
      Array(3).fill('unknown'),
    )
    expect(verdicts(streamOf(event(3, ''), event(1)), [event(3, 'data'), event(2)])).toEqual(
      Array(2).fill('unknown'),
    )
  })

  test('does not hide a full replay that it opens', () => {
    const stream = streamOf(event('hello', ''), ...events(1, 5))
    expect(verdicts(stream, [event('hello', ''), ...events(1, 6)])).toEqual([
      'unknown',
      'replayed',
      'full-replay',
      ...Array(3).fill('replayed'),
      'unknown',
    ])
  })
})
