import { describe, expect, test } from 'vitest'
import { type Given, Watch } from './watchdog.ts'

describe('silence', () => {
  test('ends the connection after 120 s when the server is unknown', () => {
    const watch = new Watch()
    expect(watch.pass(119_000)).toBeUndefined()
    expect(watch.pass(5_000)).toBe(120_000)
    expect(watch.death).toMatchObject({ code: 'ERR_SSE_HEARTBEAT', silentMs: 120_000, retryable: true })
  })

  test('ends it after 30 s once comments have come every 15 s', () => {
    const watch = new Watch()
    watch.comment()
    watch.pass(15_000)
    watch.comment()
    watch.pass(1_000)
    expect(watch.pass(29_000)).toBeUndefined()
    expect(watch.pass(2_000)).toBe(46_000)
  })

  test('is given twice the longest gap by a server with a slow heartbeat', () => {
    const watch = new Watch()
    watch.comment()
    watch.pass(50_000)
    watch.comment()
    watch.pass(1_000)
    expect(watch.pass(99_000)).toBeUndefined()
    expect(watch.pass(2_000)).toBe(151_000)
  })

  test('is counted anew after any byte', () => {
    const watch = new Watch({ timeoutMs: 1_000 })
    for (let round = 0; round < 20; round++) {
      watch.bytes()
      expect(watch.pass(900)).toBeUndefined()
    }
    expect(watch.pass(2_000)).toBeDefined()
  })

  test('is judged after a number of milliseconds, to within a tenth', () => {
    for (const timeoutMs of [50, 250, 3_000, 45_000]) {
      const at = new Watch({ timeoutMs }).pass(10 * timeoutMs) ?? 0
      expect(at).toBeGreaterThanOrEqual(timeoutMs)
      expect(at).toBeLessThanOrEqual(1.4 * timeoutMs)
    }
  })

  test('lasts for ever with 0', () => {
    expect(new Watch({ timeoutMs: 0 }).pass(86_400_000)).toBeUndefined()
  })

  test('is the consumer’s own doing while no read is pending', () => {
    const watch = new Watch({ timeoutMs: 1_000 })
    watch.watchdog.reading = false
    expect(watch.pass(60_000)).toBeUndefined()
    watch.watchdog.reading = true
    expect(watch.pass(900)).toBeUndefined()
    expect(watch.pass(2_000)).toBe(61_000)
  })

  test('of a consumer at work is no part of the rhythm of the server', () => {
    const watch = new Watch()
    watch.comment()
    watch.pass(15_000)
    watch.comment()
    watch.watchdog.reading = false
    watch.pass(600_000)
    watch.watchdog.reading = true
    watch.comment()
    expect(watch.watchdog.timeoutMs).toBe(30_000)
  })

  test('is forgiven when bytes come in the poll phase between the look and the verdict', () => {
    const watch = new Watch({ timeoutMs: 1_000 })
    watch.pass(900)
    expect(watch.watchdog.look(100)).toBe(true)
    watch.bytes()
    watch.watchdog.judge()
    expect(watch.death).toBeUndefined()
    expect(watch.pass(2_000)).toBeDefined()
  })

  test('names a buffering proxy when not even a first byte came', () => {
    const first = new Watch({ timeoutMs: 2_000 })
    first.pass(5_000)
    expect(first.death?.message).toMatch(/No first byte for 2\.0 s.*proxy.*buffering/)
    const paused = new Watch({ timeoutMs: 2_000 })
    paused.watchdog.reading = false
    paused.pass(1_000)
    paused.watchdog.reading = true
    paused.pass(5_000)
    expect(paused.death?.message).toMatch(/No first byte/)
    const later = new Watch({ timeoutMs: 2_000 })
    later.bytes()
    later.pass(5_000)
    expect(later.death?.message).toMatch(/No byte for 2\.0 s, although the connection is open/)
  })
})

describe('eventTimeoutMs', () => {
  test('ends a connection whose comments live while its data is dead', () => {
    const watch = new Watch({ eventTimeoutMs: 10_000 })
    const at = watch.pass(60_000, () => {
      if (watch.nowMs % 3_000 === 0) watch.comment()
    })
    expect(at).toBe(10_000)
    expect(watch.death?.message).toMatch(/No event for 10 s, only comments/)
    expect(watch.death?.silentMs).toBe(10_000)
  })

  test('ends it also when comments come without a pause, in every poll phase', () => {
    const watch = new Watch({ eventTimeoutMs: 10_000 })
    for (let second = 1; second <= 12 && watch.death === undefined; second++) {
      watch.comment()
      const suspect = watch.watchdog.look(1_000)
      watch.comment()
      if (suspect) watch.watchdog.judge()
    }
    expect(watch.death?.silentMs).toBe(10_000)
  })

  test('is counted anew after each event', () => {
    const watch = new Watch({ eventTimeoutMs: 10_000 })
    expect(watch.pass(60_000, () => watch.nowMs % 9_000 === 0 && watch.event())).toBeUndefined()
  })

  test('forgives an event that comes between the look and the verdict', () => {
    const watch = new Watch({ eventTimeoutMs: 10_000 })
    watch.pass(9_000)
    expect(watch.watchdog.look(1_000)).toBe(true)
    watch.event()
    watch.watchdog.judge()
    expect(watch.death).toBeUndefined()
  })

  test('does not run while the consumer is at work', () => {
    const watch = new Watch({ eventTimeoutMs: 10_000 })
    watch.watchdog.reading = false
    expect(watch.pass(60_000)).toBeUndefined()
  })

  test('is off by default: comments alone keep a stream alive', () => {
    const watch = new Watch()
    expect(watch.pass(3_600_000, () => watch.nowMs % 15_000 === 0 && watch.comment())).toBeUndefined()
  })
})

test('it wants to be looked at ten times in its shortest patience, every 20 ms to 1 s', () => {
  const period = (given: Given) => new Watch(given).watchdog.periodMs
  expect(period({})).toBe(1_000)
  expect(period({ timeoutMs: 0 })).toBe(1_000)
  expect(period({ timeoutMs: 50 })).toBe(20)
  expect(period({ timeoutMs: 4_000 })).toBe(400)
  expect(period({ timeoutMs: 60_000, eventTimeoutMs: 3_000 })).toBe(300)
  expect(period({ probe: { send: () => {} } })).toBe(300)
})
