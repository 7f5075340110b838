import { describe, expect, test } from 'vitest'
import { Cursor, headerValue, type ResumeOptions } from '../../src/layers/resume.ts'

/** What one network read brought, oldest id first. */
function read(cursor: Cursor, ...ids: string[]): void {
  cursor.advance(ids.at(-1) as string, accept => ids.findLast(accept))
}

function cursorAt(...ids: string[]): Cursor {
  const cursor = new Cursor(undefined)
  read(cursor, ...ids)
  return cursor
}

/** As a server that knows of UTF-8 reads it. */
function decoded(value: string | undefined): string | undefined {
  return value === undefined ? undefined : Buffer.from(value, 'latin1').toString('utf8')
}

describe('an id as a header value', () => {
  test.each([
    ['plain', '42', '42'],
    ['inner spaces', 'a b', 'a b'],
    ['all of printable ASCII', '!"#$%&\'()*+,-./:;<=>?@[]^_`{|}~', '!"#$%&\'()*+,-./:;<=>?@[]^_`{|}~'],
    ['é, which raw would be a wrong octet', 'é', '\xc3\xa9'],
    ['a character beyond Latin-1', '€', '\xe2\x82\xac'],
    ['an emoji, which is two code units', '😀', '\xf0\x9f\x98\x80'],
    ['an outer no-break space, which no parser trims', '\u00a0x', '\xc2\xa0x'],
  ])('is sent as its UTF-8 octets: %s', (_, id, value) => {
    expect(headerValue(id)).toBe(value)
    expect(decoded(headerValue(id))).toBe(id)
    expect(() => new Headers({ 'last-event-id': value })).not.toThrow()
  })

  test.each([
    ['empty', ''],
    ['a control character', 'a\x01b'],
    ['NUL', 'a\0'],
    ['a tab', 'a\tb'],
    ['a line feed', 'a\nb'],
    ['a carriage return', 'a\rb'],
    ['escape', '\x1b[31m'],
    ['DEL', 'a\x7f'],
    ['a leading space', ' a'],
    ['a trailing space', 'a '],
    ['a lone space', ' '],
    ['half a surrogate pair, which UTF-8 cannot carry', 'a\ud800'],
    ['the other half', '\udc00a'],
  ])('does not exist for an id with %s', (_, id) => {
    expect(headerValue(id)).toBeUndefined()
  })

  test('exists up to 4 KiB of octets, and not beyond', () => {
    expect(headerValue('x'.repeat(4_096))).toHaveLength(4_096)
    expect(headerValue('x'.repeat(4_097))).toBeUndefined()
    // Three octets each: 4,095 and 4,098.
    expect(headerValue('€'.repeat(1_365))).toHaveLength(4_095)
    expect(headerValue('€'.repeat(1_366))).toBeUndefined()
    expect(headerValue('x'.repeat(20_000))).toBeUndefined()
  })
})

describe('the cursor', () => {
  test('has nothing to send before any id', () => {
    const cursor = new Cursor(undefined)
    expect([cursor.received, cursor.sendable]).toEqual([undefined, undefined])
  })

  test('is the last id received', () => {
    const cursor = cursorAt('1', '2', '3')
    read(cursor, '4')
    expect([cursor.received, cursor.sendable]).toEqual(['4', '4'])
  })

  test('starts at a seed, which later ids overrule', () => {
    const cursor = cursorAt('5')
    expect(cursor.sendable).toBe('5')
    read(cursor, '6')
    expect(cursor.sendable).toBe('6')
  })

  test('is emptied by an empty id: no header follows it', () => {
    const cursor = cursorAt('1')
    read(cursor, '')
    expect([cursor.received, cursor.sendable]).toEqual(['', undefined])
  })

  test('is emptied also when ids that no header can carry follow', () => {
    const cursor = cursorAt('1')
    read(cursor, '2', '', 'bad\x01')
    expect([cursor.received, cursor.sendable]).toEqual(['bad\x01', undefined])
  })

  test('keeps what came after an empty id', () => {
    const cursor = cursorAt('1')
    read(cursor, '', '2')
    expect(cursor.sendable).toBe('2')
  })

  test('skips an id that no header can carry for the newest one that can', () => {
    const cursor = cursorAt('1', '2', 'bad\x01', ' outer ', 'x'.repeat(5_000))
    expect([cursor.received, cursor.sendable]).toEqual(['x'.repeat(5_000), '2'])
    for (const id of ['worse\x02', '\x02worse', '\x02', ' outer', 'outer ', ' ']) {
      read(cursor, id)
      expect([cursor.received, cursor.sendable]).toEqual([id, '2'])
    }
    read(cursor, '3')
    expect(cursor.sendable).toBe('3')
  })
})

describe('a reconnect', () => {
  test('is a gap that nobody can close when no id was ever seen', () => {
    expect(new Cursor(undefined).gapAtReconnect()).toBe('no-cursor')
    expect(cursorAt('').gapAtReconnect()).toBe('no-cursor')
  })

  test('is none once an id was seen, even one that was emptied later', () => {
    expect(cursorAt('1').gapAtReconnect()).toBeUndefined()
    const emptied = cursorAt('1')
    read(emptied, '')
    expect(emptied.gapAtReconnect()).toBeUndefined()
  })

  test('is none when the id was seen and emptied within one read', () => {
    expect(cursorAt('1', '').gapAtReconnect()).toBeUndefined()
  })
})

describe('isNext', () => {
  const skipped = (isNext: ResumeOptions['isNext'], previous: string, next: string) =>
    new Cursor(isNext).skipped(previous, next)

  test('is not given by default: ids are opaque, and nothing is ever skipped', () => {
    expect(new Cursor(undefined).checksOrder).toBe(false)
    expect(skipped(undefined, '1', '9')).toBe(false)
  })

  test.each([
    ['1', '2', false],
    ['9', '10', false],
    ['1', '3', true],
    ['2', '1', true],
    ['2', '2', true],
    ['099', '100', false],
    ['9007199254740993', '9007199254740994', false],
    ['9007199254740992', '9007199254740994', true],
    ['a', 'b', true],
    ['1', '2.0', true],
    ['-1', '0', true],
    ['', '1', true],
    [' 1', '2', true],
    ['0x1', '2', true],
  ])("'decimal': from %j to %j, skipped is %s", (previous, next, expected) => {
    expect(skipped('decimal', previous, next)).toBe(expected)
  })

  test('may be any rule of the user', () => {
    const byTens = (previous: string, next: string) => Number(next) === Number(previous) + 10
    expect(new Cursor(byTens).checksOrder).toBe(true)
    expect([skipped(byTens, '10', '20'), skipped(byTens, '10', '30')]).toEqual([false, true])
  })
})
