import { describe, expect, test } from 'vitest'
import { DEDUPE_DEFAULTS, Dedupe, type DedupeOptions, type ResolvedDedupe } from '../../src/layers/dedupe.ts'

interface Event {
  id?: string
  data: string
}

const event = (id: string, data = `data of ${id}`): Event => ({ id, data })
const events = (from: number, to: number): Event[] =>
  Array.from({ length: to - from + 1 }, (_, index) => event(String(from + index)))

/** One connection: what `sent` of it is delivered, in reads of `readSize` events. */
function connection(dedupe: Dedupe, sent: Event[], { readSize = 7, cursor = '' } = {}): Event[] {
  dedupe.connected()
  const delivered: Event[] = []
  for (let from = 0; from < sent.length; from += readSize) {
    const fresh = sent.slice(from, from + readSize).filter(one => {
      const duplicate = one.id ? dedupe.isDuplicate(one, one.id) : false
      if (one.id === cursor) dedupe.passedCursor()
      return !duplicate
    })
    dedupe.remember(fresh)
    delivered.push(...fresh)
  }
  return delivered
}

function dedupeWith(options: DedupeOptions = {}): Dedupe {
  return new Dedupe({ ...DEDUPE_DEFAULTS, ...options } as ResolvedDedupe)
}

const ids = (delivered: Event[]) => delivered.map(({ id }) => id)

describe('a duplicate', () => {
  test('is an event whose id was delivered on an earlier connection', () => {
    const dedupe = dedupeWith()
    expect(connection(dedupe, events(1, 10))).toHaveLength(10)
    expect(ids(connection(dedupe, events(6, 12)))).toEqual(['11', '12'])
  })

  test('is found in any connection before, not just the last one', () => {
    const dedupe = dedupeWith()
    connection(dedupe, events(1, 5))
    connection(dedupe, events(6, 10))
    connection(dedupe, [])
    expect(ids(connection(dedupe, events(1, 11)))).toEqual(['11'])
  })

  test('is dropped again by the connection after the one that dropped it', () => {
    const dedupe = dedupeWith()
    connection(dedupe, events(1, 5))
    connection(dedupe, events(4, 6))
    expect(ids(connection(dedupe, events(4, 7)))).toEqual(['7'])
  })

  test('is nothing that repeats within one connection', () => {
    const dedupe = dedupeWith()
    expect(connection(dedupe, [event('1'), event('1'), event('1')])).toHaveLength(3)
  })

  test('is not an event without an id of its own, however often it comes', () => {
    const dedupe = dedupeWith()
    const sent = [event('1'), { data: 'a' }, { data: 'a' }, { id: '', data: 'b' }]
    connection(dedupe, sent)
    expect(connection(dedupe, sent)).toEqual(sent.slice(1))
  })

  test('is not seen by an id that shares a prefix or holds a space', () => {
    const dedupe = dedupeWith()
    connection(dedupe, [event('a b'), event('ab')])
    expect(ids(connection(dedupe, [event('a'), event('b'), event('a b'), event('abc')]))).toEqual([
      'a',
      'b',
      'abc',
    ])
  })

  test('is seen by any character that an id may hold', () => {
    const dedupe = dedupeWith()
    const odd = ['é', '😀', '\x01', ' ', '\t', '\ud800', '__proto__', 'x'.repeat(20_000)]
    connection(
      dedupe,
      odd.map(id => event(id)),
    )
    expect(connection(dedupe, odd.map(id => event(id)).concat(event('new')))).toEqual([event('new')])
  })
})

describe('an id that repeats within a connection', () => {
  test('is never a key: it does not identify an event', () => {
    const dedupe = dedupeWith()
    connection(dedupe, [event('x', '1'), event('y'), event('x', '2')])
    expect(ids(connection(dedupe, [event('x', '3'), event('y'), event('x', '4')]))).toEqual(['x', 'x'])
  })

  test('is no key when the repeats lie in reads far apart', () => {
    const dedupe = dedupeWith()
    connection(dedupe, [event('x'), ...events(1, 500), event('x')])
    expect(ids(connection(dedupe, [event('x')]))).toEqual(['x'])
  })

  test('passes the second time when the first one was a duplicate', () => {
    const dedupe = dedupeWith()
    connection(dedupe, [event('x')])
    expect(connection(dedupe, [event('x'), event('x', 'again')])).toEqual([event('x', 'again')])
  })
})

describe('capacity', () => {
  test('bounds what one long connection leaves behind to the newest ids', () => {
    const dedupe = dedupeWith({ capacity: 100 })
    connection(dedupe, events(1, 5_000))
    expect(dedupe.size).toBeLessThanOrEqual(200)
    const delivered = connection(dedupe, events(4_801, 5_000))
    expect(ids(delivered)).toEqual(ids(events(4_801, 4_900)))
  })

  test('lets ids go in bulk: up to twice as many are held, then as few as it says', () => {
    const dedupe = dedupeWith({ capacity: 100 })
    connection(dedupe, events(1, 190), { readSize: 10 })
    expect(dedupe.size).toBe(190)
    dedupe.remember(events(191, 200))
    expect(dedupe.size).toBe(100)
  })

  test('counts the ids of this connection and of earlier ones together, and no event without an id', () => {
    const dedupe = dedupeWith()
    connection(dedupe, [...events(1, 10), { data: 'bare' }])
    expect(dedupe.size).toBe(10)
    connection(dedupe, [...events(11, 14), { data: 'bare' }, { id: '', data: 'bare' }])
    expect(dedupe.size).toBe(14)
  })

  test('holds also when one read brings more than it', () => {
    const dedupe = dedupeWith({ capacity: 10 })
    connection(dedupe, events(1, 1_000), { readSize: 1_000 })
    expect(dedupe.size).toBe(10)
    expect(connection(dedupe, events(991, 1_001))).toEqual([event('1001')])
  })

  test('holds over many short connections', () => {
    const dedupe = dedupeWith({ capacity: 50 })
    for (let from = 1; from < 2_000; from += 10) connection(dedupe, events(from, from + 9))
    expect(dedupe.size).toBeLessThanOrEqual(100)
  })

  test('keeps earlier ids until the cursor has passed, so a replay longer than it is dropped whole', () => {
    const dedupe = dedupeWith({ capacity: 100 })
    connection(dedupe, events(1, 100))
    // A textbook LRU of 100 that meets 101 ids in the old order evicts each one just before it comes.
    const replay = [event('new 1'), ...events(1, 100)]
    expect(ids(connection(dedupe, replay, { readSize: 1, cursor: '100' }))).toEqual(['new 1'])
  })

  test('lets ids of earlier connections go once the cursor has passed, oldest first', () => {
    const dedupe = dedupeWith({ capacity: 100 })
    connection(dedupe, events(1, 100))
    connection(dedupe, [event('100'), ...events(101, 190)], { cursor: '100' })
    expect(dedupe.size).toBeLessThanOrEqual(107)
    expect(ids(connection(dedupe, events(80, 191)))).toEqual([...ids(events(80, 90)), '191'])
  })

  test('lets only so many of them go as there is no room for', () => {
    const dedupe = dedupeWith({ capacity: 100 })
    connection(dedupe, events(1, 100))
    connection(dedupe, [event('100'), ...events(101, 110)], { readSize: 1, cursor: '100' })
    expect(dedupe.size).toBe(100)
    expect(['10', '11', '99'].map(id => dedupe.isDuplicate(event(id), id))).toEqual([false, true, true])
  })

  test('of 1 remembers the last one', () => {
    const dedupe = dedupeWith({ capacity: 1 })
    connection(dedupe, events(1, 9), { readSize: 1 })
    expect(ids(connection(dedupe, events(8, 10)))).toEqual(['8', '10'])
  })
})

describe("by 'id+data'", () => {
  test('the same id with other data is another event', () => {
    const dedupe = dedupeWith({ by: 'id+data' })
    connection(dedupe, [event('1', 'a'), event('2', 'b')])
    expect(connection(dedupe, [event('1', 'a'), event('2', 'c')])).toEqual([event('2', 'c')])
  })

  test('an id that repeats with other data within a connection stays a key', () => {
    const dedupe = dedupeWith({ by: 'id+data' })
    const sent = [event('x', '1'), event('x', '2')]
    connection(dedupe, sent)
    expect(connection(dedupe, sent)).toEqual([])
  })

  test('data that differs in its last character, its case or its length is told apart', () => {
    const dedupe = dedupeWith({ by: 'id+data' })
    connection(dedupe, [event('1', 'x'.repeat(1_000)), event('2', 'abc'), event('3', '')])
    const other = [event('1', `${'x'.repeat(999)}y`), event('2', 'abC'), event('3', ' ')]
    expect(connection(dedupe, other)).toEqual(other)
  })

  test('a seed, whose data nobody knows, drops nothing', () => {
    const dedupe = dedupeWith({ by: 'id+data' })
    dedupe.seed('7')
    expect(connection(dedupe, [event('7')])).toHaveLength(1)
  })
})

test.each(['id', 'id+data'] as const)('by %s, it tells the ids that would make a duplicate', by => {
  const dedupe = dedupeWith({ by })
  connection(dedupe, [event('1'), event('a b'), event('2')])
  dedupe.connected()
  expect(dedupe.ids()).toEqual(['1', 'a b', '2'])
})

describe('a seed', () => {
  test('is known on the first connection: it was handled before this process began', () => {
    const dedupe = dedupeWith()
    dedupe.seed('7')
    expect(ids(connection(dedupe, events(7, 9)))).toEqual(['8', '9'])
  })

  test('that is empty is no id', () => {
    const dedupe = dedupeWith()
    dedupe.seed('')
    dedupe.connected()
    expect([dedupe.armed, dedupe.size]).toEqual([false, 0])
  })
})

describe('cost', () => {
  test('the first connection has no index to ask', () => {
    const dedupe = dedupeWith()
    connection(dedupe, events(1, 100))
    expect(dedupe.armed).toBe(false)
    dedupe.connected()
    expect(dedupe.armed).toBe(true)
  })

  test('an index that has been used up is put away', () => {
    const dedupe = dedupeWith({ capacity: 20 })
    connection(dedupe, events(1, 20))
    connection(dedupe, events(20, 80), { cursor: '20' })
    expect(dedupe.armed).toBe(false)
  })
})

test('forgetting empties the set, when a server numbers anew', () => {
  const dedupe = dedupeWith()
  connection(dedupe, events(1, 10))
  dedupe.connected()
  dedupe.forget()
  expect([dedupe.size, dedupe.armed]).toEqual([0, false])
  expect(dedupe.isDuplicate(event('5'), '5')).toBe(false)
  dedupe.connected()
  expect([dedupe.size, dedupe.armed]).toEqual([0, false])
})
