import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { SseHeartbeatError } from '../src/errors.ts'
import { HEARTBEAT_DEFAULTS, type ResolvedHeartbeat, Rhythm } from '../src/layers/heartbeat.ts'
import { machine as browser } from '../src/machine.browser.ts'
import { machine } from '../src/machine.ts'
import { watch } from '../src/watch.ts'
import { Watchdog } from '../src/watchdog.ts'

let addresses: ReadonlySet<string>
/** What sleep adds to the uptime beyond the process's own clock. */
let sleptMs = 0
let leave: (() => void)[] = []
/** What {@link block} adds to the clock of the timers. */
let blockedMs = 0
let clock: (() => number) | undefined

beforeEach(() => {
  vi.useFakeTimers()
  addresses = new Set(['127.0.0.1', '192.0.2.7'])
  sleptMs = 0
  blockedMs = 0
  clock = undefined
  vi.spyOn(machine, 'uptimeMs').mockImplementation(() => performance.now() + sleptMs)
  vi.spyOn(machine, 'addresses').mockImplementation(() => addresses)
})

afterEach(() => {
  for (const stop of leave) stop()
  leave = []
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A watched connection whose reader waits. */
function watched(options: Partial<Omit<ResolvedHeartbeat, 'probe'>> = {}) {
  const seen: string[] = []
  const watchdog = new Watchdog(
    { ...HEARTBEAT_DEFAULTS, eventTimeoutMs: 0, ...options, probe: undefined },
    new Rhythm(),
    {
      stall: phase => seen.push(phase),
      dead: (error: SseHeartbeatError) => {
        seen.push(`dead ${Math.round(error.silentMs / 1_000)}`)
        stop()
      },
    },
  )
  watchdog.reading = true
  const stop = watch(watchdog)
  leave.push(stop)
  return { watchdog, seen, stop }
}

/** Time that passes while the event loop does nothing else: no timer fires until its end. */
function block(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
  blockedMs += ms
  clock ??= performance.now.bind(performance)
  const now = clock
  vi.spyOn(performance, 'now').mockImplementation(() => now() + blockedMs)
}

describe('the timer', () => {
  test('is one for all streams, and gone with the last of them', () => {
    const streams = Array.from({ length: 100 }, () => watched())
    expect(vi.getTimerCount()).toBe(1)
    for (const { stop } of streams.slice(1)) stop()
    expect(vi.getTimerCount()).toBe(1)
    streams[0]?.stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('does not keep the process alive', () => {
    const unref = vi.fn()
    vi.spyOn(globalThis, 'setInterval').mockReturnValue({ unref } as unknown as NodeJS.Timeout)
    watched()
    expect(unref).toHaveBeenCalledTimes(1)
  })

  test('runs as often as the least patient stream needs', async () => {
    const patient = watched({ timeoutMs: 60_000 })
    const hasty = watched({ timeoutMs: 500 })
    await vi.advanceTimersByTimeAsync(700)
    expect([patient.seen, hasty.seen]).toEqual([[], ['dead 1']])
  })

  test('declares death after the silence, and once', async () => {
    const { seen } = watched({ timeoutMs: 30_000 })
    await vi.advanceTimersByTimeAsync(29_000)
    expect(seen).toEqual([])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen).toEqual(['dead 30'])
  })

  test('gives bytes that wait in the socket one poll phase before the verdict', async () => {
    const { watchdog, seen } = watched({ timeoutMs: 10_000 })
    const verdicts: (() => void)[] = []
    vi.spyOn(machine, 'afterPoll').mockImplementation(callback => verdicts.push(callback))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(verdicts).toHaveLength(1)
    watchdog.sawBytes = true
    for (const verdict of verdicts) verdict()
    expect(seen).toEqual([])
  })

  test('leaves a connection alone that ended between the look and the verdict', async () => {
    const { seen, stop } = watched({ timeoutMs: 10_000 })
    const verdicts: (() => void)[] = []
    vi.spyOn(machine, 'afterPoll').mockImplementation(callback => verdicts.push(callback))
    await vi.advanceTimersByTimeAsync(10_000)
    stop()
    for (const verdict of verdicts) verdict()
    expect(seen).toEqual([])
  })
})

describe('a blocked event loop', () => {
  test('is no silence: while it lasted nobody could see a byte', async () => {
    const { seen } = watched({ timeoutMs: 5_000 })
    await vi.advanceTimersByTimeAsync(1_000)
    block(25_000)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(seen).toEqual([])
  })

  test('does not stop the count of what is silence', async () => {
    const { seen } = watched({ timeoutMs: 5_000 })
    block(25_000)
    await vi.advanceTimersByTimeAsync(6_000)
    expect(seen).toHaveLength(1)
  })
})

describe('a clock that was set', () => {
  test.each([3_600_000, -3_600_000])('by %d ms trips nothing', async step => {
    const { seen } = watched({ timeoutMs: 30_000 })
    await vi.advanceTimersByTimeAsync(5_000)
    vi.setSystemTime(Date.now() + step)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(seen).toEqual([])
  })
})

describe('sleep', () => {
  test('is a hint: the patience shrinks to 5 s', async () => {
    const { seen } = watched()
    await vi.advanceTimersByTimeAsync(3_000)
    sleptMs += 600_000
    await vi.advanceTimersByTimeAsync(1_500)
    expect(seen).toEqual(['hint'])
    await vi.advanceTimersByTimeAsync(6_000)
    expect(seen).toEqual(['hint', 'dead 5'])
  })

  test('hurts no connection that speaks again', async () => {
    const { watchdog, seen } = watched()
    sleptMs += 600_000
    await vi.advanceTimersByTimeAsync(2_000)
    watchdog.sawBytes = true
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen).toEqual(['hint'])
  })

  test('is seen, too, where the process’s own clock runs on: a look comes half a minute late', async () => {
    const { seen } = watched()
    await vi.advanceTimersByTimeAsync(1_000)
    block(40_000)
    await vi.advanceTimersByTimeAsync(1_500)
    expect(seen).toEqual(['hint'])
  })

  test('of a few seconds is none', async () => {
    const { seen } = watched()
    sleptMs += 9_000
    await vi.advanceTimersByTimeAsync(10_000)
    expect(seen).toEqual([])
  })
})

describe('an address of the machine', () => {
  test('that is absent in two looks 2 s apart is a hint', async () => {
    const { seen } = watched()
    await vi.advanceTimersByTimeAsync(500)
    addresses = new Set(['127.0.0.1', '198.51.100.9'])
    await vi.advanceTimersByTimeAsync(2_600)
    expect(seen).toEqual([])
    await vi.advanceTimersByTimeAsync(2_000)
    expect(seen).toEqual(['hint'])
    await vi.advanceTimersByTimeAsync(6_000)
    expect(seen).toEqual(['hint', 'dead 5'])
  })

  test('that was gone for one look only is none', async () => {
    const before = addresses
    const { seen } = watched()
    addresses = new Set(['127.0.0.1'])
    await vi.advanceTimersByTimeAsync(2_500)
    addresses = before
    await vi.advanceTimersByTimeAsync(20_000)
    expect(seen).toEqual([])
  })

  test('that is new is none', async () => {
    const { seen } = watched()
    addresses = new Set([...addresses, '198.51.100.9'])
    await vi.advanceTimersByTimeAsync(20_000)
    expect(seen).toEqual([])
  })

  test('that was lost before the connection was made does not concern it', async () => {
    const old = watched()
    addresses = new Set(['127.0.0.1', '198.51.100.9'])
    const young = watched()
    await vi.advanceTimersByTimeAsync(6_000)
    expect([old.seen, young.seen]).toEqual([['hint'], []])
  })

  test('is a hint once, not every 2 s', async () => {
    const { watchdog, seen } = watched()
    addresses = new Set(['127.0.0.1'])
    for (let second = 0; second < 60; second++) {
      watchdog.sawBytes = true
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(seen).toEqual(['hint'])
  })
})

describe('a hint of the platform (browsers: the network is back, the page woke up)', () => {
  let wake: () => void
  beforeEach(() => {
    wake = () => {}
    vi.spyOn(machine, 'onWake').mockImplementation(listener => {
      wake = listener
      return () => {}
    })
  })

  test('is not dismissed by bytes that came just before it', async () => {
    const { watchdog, seen } = watched({ timeoutMs: 120_000 })
    await vi.advanceTimersByTimeAsync(500)
    watchdog.sawBytes = true
    wake()
    await vi.advanceTimersByTimeAsync(7_000)
    expect(seen).toEqual(['hint', 'dead 5'])
  })

  test('is dismissed by bytes that come after it', async () => {
    const { watchdog, seen } = watched({ timeoutMs: 120_000 })
    wake()
    await vi.advanceTimersByTimeAsync(500)
    watchdog.sawBytes = true
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen).toEqual(['hint'])
  })
})

describe('a hidden page, whose timers run once a minute', () => {
  beforeEach(() => {
    const { throttledMs, frozenMs } = machine
    onTestFinished(() => void Object.assign(machine, { throttledMs, frozenMs }))
    Object.assign(machine, { throttledMs: browser.throttledMs, frozenMs: browser.frozenMs })
    vi.spyOn(machine, 'uptimeMs').mockImplementation(browser.uptimeMs)
  })

  test('is not taken for a machine that slept', async () => {
    const { watchdog, seen } = watched({ timeoutMs: 120_000 })
    for (let minute = 0; minute < 5; minute++) {
      watchdog.sawBytes = true
      block(60_000)
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(seen).toEqual([])
  })

  test('is told of silence after as many minutes as a page that is seen', async () => {
    const { seen } = watched({ timeoutMs: 120_000 })
    block(59_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(seen).toEqual([])
    block(59_000)
    await vi.advanceTimersByTimeAsync(1_001)
    expect(seen).toEqual(['dead 120'])
  })
})
