import { describe, expect, test, vi } from 'vitest'
import type { SseHeartbeatError } from '../src/errors.ts'
import {
  HEARTBEAT_DEFAULTS,
  type HeartbeatOptions,
  PROBE_DEFAULTS,
  type ProbeOptions,
  Rhythm,
} from '../src/layers/heartbeat.ts'
import { Watchdog } from '../src/watchdog.ts'

type Given = Omit<HeartbeatOptions, 'probe'> & { probe?: ProbeOptions }

/** A watchdog over a connection whose reader waits, on a clock that the test moves. */
class Watch {
  readonly rhythm = new Rhythm()
  readonly stalls: string[] = []
  readonly watchdog: Watchdog
  death: SseHeartbeatError | undefined
  nowMs = 0

  constructor({ probe, ...given }: Given = {}) {
    const options = {
      ...HEARTBEAT_DEFAULTS,
      eventTimeoutMs: 0,
      ...given,
      probe: probe && { ...PROBE_DEFAULTS, ...probe },
    }
    this.watchdog = new Watchdog(options, this.rhythm, {
      stall: (phase, silentMs) => this.stalls.push(`${phase} ${silentMs}`),
      dead: error => {
        this.death = error
      },
    })
    this.watchdog.reading = true
  }

  /** Time passes, in looks of one period; returns when death was declared, in ms since the start. */
  pass(ms: number, each?: () => void): number | undefined {
    const period = this.watchdog.periodMs
    for (let passed = 0; passed < ms && this.death === undefined; passed += period) {
      this.nowMs += period
      each?.()
      if (this.watchdog.look(period)) this.watchdog.judge()
    }
    return this.death && this.nowMs
  }

  bytes(): void {
    this.watchdog.sawBytes = true
  }

  comment(): void {
    this.bytes()
    this.rhythm.comment(this.nowMs)
  }

  event(): void {
    this.bytes()
    this.watchdog.sawEvents = true
  }
}

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

describe('the probe', () => {
  test('is sent after 10 s of silence, and death is declared at 13 s', () => {
    const send = vi.fn()
    const watch = new Watch({ probe: { send } })
    watch.pass(9_900)
    expect(send).not.toHaveBeenCalled()
    watch.pass(600)
    expect(send).toHaveBeenCalledTimes(1)
    const at = watch.pass(10_000) ?? 0
    expect(at).toBeGreaterThanOrEqual(13_000)
    expect(at).toBeLessThanOrEqual(13_600)
    expect(send).toHaveBeenCalledTimes(1)
    expect(watch.stalls).toEqual(['probe 10200'])
  })

  test('is answered by any byte, and sent again after the next silence', () => {
    const send = vi.fn()
    const watch = new Watch({ probe: { send } })
    for (let round = 1; round <= 3; round++) {
      watch.pass(11_000)
      expect(send).toHaveBeenCalledTimes(round)
      watch.bytes()
    }
    expect(watch.death).toBeUndefined()
  })

  test('is not sent to a server that speaks', () => {
    const send = vi.fn()
    const watch = new Watch({ probe: { send } })
    watch.pass(60_000, () => watch.nowMs % 6_000 === 0 && watch.bytes())
    expect(send).not.toHaveBeenCalled()
  })

  test('has its own times', () => {
    const send = vi.fn()
    const watch = new Watch({ probe: { afterMs: 500, timeoutMs: 200, send } })
    expect(watch.pass(5_000)).toBe(700)
  })

  test('proves nothing by failing, neither by a throw nor by a rejection', async () => {
    for (const send of [
      () => {
        throw new Error('no way')
      },
      async () => {
        throw new Error('no way')
      },
    ]) {
      const watch = new Watch({ probe: { send } })
      watch.pass(11_000)
      await Promise.resolve()
      expect(watch.death).toBeUndefined()
      watch.bytes()
      expect(watch.pass(9_000)).toBeUndefined()
    }
  })

  test('is aborted when the connection ends', () => {
    let signal: AbortSignal | undefined
    const send = (given: AbortSignal) => {
      signal = given
    }
    const watch = new Watch({ probe: { send } })
    watch.pass(11_000)
    expect(signal?.aborted).toBe(false)
    watch.watchdog.stop()
    expect(signal?.aborted).toBe(true)
  })

  test('leaves the plain timeout in force when that is shorter', () => {
    const watch = new Watch({ timeoutMs: 2_000, probe: { send: () => {} } })
    expect(watch.pass(60_000)).toBe(2_000)
  })
})

describe('a hint that the path is gone', () => {
  test('shrinks the patience to 5 s, counted from the hint', () => {
    const watch = new Watch()
    watch.pass(20_000)
    watch.watchdog.hint()
    expect(watch.stalls).toEqual(['hint 20000'])
    expect(watch.pass(60_000)).toBe(25_000)
  })

  test('is forgotten at the first byte', () => {
    const watch = new Watch()
    watch.watchdog.hint()
    watch.pass(2_000)
    watch.bytes()
    expect(watch.pass(100_000)).toBeUndefined()
  })

  test('never lengthens a patience that is shorter', () => {
    const watch = new Watch({ timeoutMs: 1_000 })
    watch.watchdog.hint()
    expect(watch.pass(60_000)).toBe(1_000)
  })

  test('respects a rhythm that is known: a 15 s heartbeat is not dead after 5 s', () => {
    const watch = new Watch()
    watch.comment()
    watch.pass(15_000)
    watch.comment()
    watch.pass(1_000)
    watch.watchdog.hint()
    expect(watch.watchdog.timeoutMs).toBe(18_750)
  })

  test('sends the probe at once, where there is one', () => {
    const send = vi.fn()
    const watch = new Watch({ probe: { send } })
    watch.pass(3_000)
    watch.watchdog.hint()
    expect(send).toHaveBeenCalledTimes(1)
    const at = watch.pass(60_000) ?? 0
    expect(at).toBeGreaterThanOrEqual(6_000)
    expect(at).toBeLessThanOrEqual(6_600)
  })

  test('is told once, however often it is given', () => {
    const watch = new Watch()
    watch.watchdog.hint()
    watch.watchdog.hint()
    expect(watch.stalls).toHaveLength(1)
  })

  test('does not touch a stream whose consumer is at work', () => {
    const watch = new Watch()
    watch.watchdog.reading = false
    watch.watchdog.hint()
    expect(watch.stalls).toEqual([])
  })

  test('leaves a watchdog with endless patience alone', () => {
    const watch = new Watch({ timeoutMs: 0 })
    watch.watchdog.hint()
    expect(watch.pass(600_000)).toBeUndefined()
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
