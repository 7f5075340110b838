import { describe, expect, test, vi } from 'vitest'
import { Watch } from './watchdog.ts'

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
