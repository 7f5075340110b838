import { encodeEvent, eventLog, FaultServerOptionError, type IdStyle } from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'

describe('an event log', () => {
  it('makes the same events from the same options, whatever the order in which they are asked for', () => {
    const options = { count: 200, seed: 7, bytes: [0, 3000] } as const
    const one = eventLog(options)
    const other = eventLog({ ...options })
    const backwards = Array.from({ length: 200 }, (_, i) => other.at(199 - i)).reverse()
    expect(Array.from({ length: 200 }, (_, i) => one.at(i))).toEqual(backwards)
    expect(eventLog({ ...options, seed: 8 }).at(3)).not.toEqual(one.at(3))
  })

  it('makes data of exactly the size asked for, from no byte to more than the block it is cut from', () => {
    for (const bytes of [0, 1, 5, 15, 16, 17, 200, 65_536, 300_001]) {
      const log = eventLog({ count: 20, bytes })
      for (let i = 0; i < 20; i++) expect(Buffer.byteLength(log.at(i).data)).toBe(bytes)
    }
    const sizes = Array.from({ length: 300 }, (_, i) =>
      Buffer.byteLength(eventLog({ count: 300, bytes: [20, 30] }).at(i).data),
    )
    expect(Math.min(...sizes)).toBe(20)
    expect(Math.max(...sizes)).toBe(30)
  })

  it('holds multi-byte characters in every event and several lines in some', () => {
    const log = eventLog({ count: 400, bytes: [16, 500] })
    const data = Array.from({ length: 400 }, (_, i) => log.at(i).data)
    expect(data.every(text => Buffer.byteLength(text) > text.length)).toBe(true)
    expect(data.every(text => !text.includes('\uFFFD') && !text.includes('\r'))).toBe(true)
    const several = data.filter(text => text.includes('\n')).length
    expect(several).toBeGreaterThan(30)
    expect(several).toBeLessThan(200)
    expect(new Set(data).size).toBe(400)
  })

  it('encodes an event to the same bytes as encodeEvent, with its own id or another', () => {
    const log = eventLog({ count: 60, bytes: [0, 400], event: 'x' })
    log.push({ data: 'a\nb', id: 'p' })
    for (let i = 0; i < log.length; i++)
      for (const ending of ['\n', '\r\n', '\r'] as const)
        expect(log.encode(i, ending).equals(encodeEvent(log.at(i), ending))).toBe(true)
    expect(log.encode(3, '\n', '9').equals(encodeEvent({ ...log.at(3), id: '9' }))).toBe(true)
  })

  it('makes 300 KB events fast enough to send thousands of them, and keeps none', () => {
    const log = eventLog({ count: 10_000, bytes: 300_000 })
    const before = performance.now()
    for (let i = 0; i < 100; i++) log.encode(i * 100)
    expect(performance.now() - before).toBeLessThan(2000)
  })

  it.each<[IdStyle, RegExp]>([
    ['opaque', /^[0-9a-z]{16}$/],
    ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/],
    ['decimal', /^[1-9]\d*$/],
    ['non-latin-1', /^é-豆腐-\d+$/],
    ['long', /^.{20000}$/],
    [{ start: 40 }, /^[4-9]\d$/],
  ])('has ids of the style %j, all different', (ids, shape) => {
    const log = eventLog({ count: 50, ids })
    const all = Array.from({ length: 50 }, (_, i) => log.idAt(i) ?? '')
    for (const id of all) expect(id).toMatch(shape)
    expect(new Set(all).size).toBe(50)
    expect(log.indexOfId(all[33] ?? '')).toBe(33)
    expect(log.at(12).id).toBe(all[12])
  })

  it('has events without ids, with a control character in the id, and with one id for four events', () => {
    expect(eventLog({ ids: 'none' }).at(0)).not.toHaveProperty('id')
    expect(eventLog({ ids: 'control' }).idAt(0)).toContain('\x01')
    const log = eventLog({ ids: 'duplicate' })
    expect([0, 1, 2, 3, 4].map(i => log.idAt(i))).toEqual([
      'batch-0',
      'batch-0',
      'batch-0',
      'batch-0',
      'batch-1',
    ])
    expect(log.indexOfId('batch-0')).toBe(3)
  })

  it('takes pushed events, and finds them by their id', () => {
    const log = eventLog({ count: 3, event: 'tick' })
    expect(log.indexOfId('live')).toBe(-1)
    expect(log.push({ data: 'now', id: 'live' })).toBe(3)
    expect(log.length).toBe(4)
    expect(log.at(3)).toEqual({ data: 'now', id: 'live' })
    expect(log.at(0).event).toBe('tick')
    expect(log.indexOfId('live')).toBe(3)
    expect(() => log.at(4)).toThrow('index: expected an integer from 0 to 3, got 4')
  })

  it.each([
    [{ count: -1 }, 'log.count'],
    [{ bytes: [5, 2] as const }, 'log.bytes'],
    [{ bytes: -2 }, 'log.bytes'],
    [{ seed: 0.5 }, 'log.seed'],
    [{ ids: 'roman' as IdStyle }, 'log.ids'],
    [{ event: 'a\nb' }, 'log.event'],
  ])('refuses %j and names the option', (options, option) => {
    expect(() => eventLog(options)).toThrow(FaultServerOptionError)
    expect(() => eventLog(options)).toThrow(option)
  })
})

describe('encodeEvent', () => {
  it('writes the id first, then the type, then a line of data for each line', () => {
    const bytes = encodeEvent({ data: 'one\ntwo\r\nthree\r', id: '豆', event: 'x' })
    expect(bytes.toString()).toBe('id: 豆\nevent: x\ndata: one\ndata: two\ndata: three\ndata: \n\n')
    expect(encodeEvent({ data: '' }, '\r\n').toString()).toBe('data: \r\n\r\n')
    expect(() => encodeEvent({ data: '', id: 'a\nb' })).toThrow('id: expected one line of text')
  })
})

it('refuses an option that it does not know, as a misspelt one would test something else', () => {
  expect(() => eventLog({ cuont: 3 } as never)).toThrow(
    /^log\.cuont: expected one of count, ids, bytes, event, seed/,
  )
})
