import { describe, expect, test } from 'vitest'
import {
  BACKOFF_DEFAULTS,
  Backoff,
  type BackoffOptions,
  clampServerDelay,
  jitteredDelay,
  nominalDelay,
  type ResolvedBackoff,
} from '../../src/layers/backoff.ts'
import { range, seeded } from '../random.ts'

const HOUR = 3_600_000

function resolved(options: BackoffOptions = {}): ResolvedBackoff {
  return { ...BACKOFF_DEFAULTS, ...options } as ResolvedBackoff
}

/** Least and greatest of 1,000 delays. */
function drawn(options: BackoffOptions, failures: number, { floorMs = 0, previousMs = 0 } = {}) {
  const random = seeded(7)
  return range(1_000, () => jitteredDelay({ failures, floorMs, previousMs }, resolved(options), random))
}

/** The drawn range fills [low, high], to within 2 % of its width, and never leaves it. */
function expectRange({ min, max }: { min: number; max: number }, low: number, high: number): void {
  const tolerance = 0.02 * (high - low)
  expect(min).toBeGreaterThanOrEqual(low)
  expect(min).toBeLessThanOrEqual(low + tolerance)
  expect(max).toBeLessThanOrEqual(high)
  expect(max).toBeGreaterThanOrEqual(high - tolerance)
}

describe('growth', () => {
  test('the delay starts at half a second, doubles with each failure and stops at 16 s', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 100].map(failures => nominalDelay(failures, resolved()))
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000])
  })

  test('the factor and the cap are the ones that were given', () => {
    const options = resolved({ baseMs: 100, factor: 3, maxMs: 2_000 })
    expect([1, 2, 3, 4].map(failures => nominalDelay(failures, options))).toEqual([100, 300, 900, 2_000])
  })

  test('a thousand failures overflow into the cap, not into Infinity', () => {
    expect(nominalDelay(5_000, resolved({ factor: 10 }))).toBe(16_000)
  })

  test('a base above the cap is capped from the first retry', () => {
    expect(nominalDelay(1, resolved({ baseMs: 60_000, maxMs: 5_000 }))).toBe(5_000)
  })

  test('an end without failures waits like the first failure', () => {
    expect(nominalDelay(0, resolved())).toBe(500)
  })

  test('a base of 0 frees the first retry only', () => {
    const delays = [0, 1, 2, 3, 4, 10].map(failures => nominalDelay(failures, resolved({ baseMs: 0 })))
    expect(delays).toEqual([0, 0, 500, 1_000, 2_000, 16_000])
  })
})

describe('jitter', () => {
  test("'full' spreads over everything from 0 to the delay, the first retry too", () => {
    for (const failures of [1, 2, 6]) {
      expectRange(drawn({ jitter: 'full' }, failures), 0, nominalDelay(failures, resolved()))
    }
  })

  test("'full' is the default", () => {
    expectRange(drawn({}, 6), 0, 16_000)
  })

  test("'equal' keeps half of the delay and spreads the other half", () => {
    for (const failures of [1, 4, 9]) {
      const nominal = nominalDelay(failures, resolved())
      expectRange(drawn({ jitter: 'equal' }, failures), nominal / 2, nominal)
    }
  })

  test("'decorrelated' spreads between the base and three times the delay before", () => {
    expectRange(drawn({ jitter: 'decorrelated' }, 2, { previousMs: 2_000 }), 500, 6_000)
  })

  test("'decorrelated' spreads the first retry too, over one to three bases", () => {
    expectRange(drawn({ jitter: 'decorrelated' }, 1), 500, 1_500)
  })

  test("'decorrelated' knows the base that was given, and that a base of 0 frees the first retry only", () => {
    expectRange(drawn({ jitter: 'decorrelated', baseMs: 100 }, 1), 100, 300)
    expect(drawn({ jitter: 'decorrelated', baseMs: 0 }, 1)).toEqual({ min: 0, max: 0 })
    expectRange(drawn({ jitter: 'decorrelated', baseMs: 0 }, 2), 500, 1_500)
  })

  test("'decorrelated' never exceeds the cap", () => {
    const { min, max } = drawn({ jitter: 'decorrelated' }, 9, { previousMs: 16_000 })
    expect(min).toBeGreaterThanOrEqual(500)
    expect(max).toBe(16_000)
  })

  test("'decorrelated' follows its own delays and starts anew after proof of health", () => {
    const backoff = new Backoff(resolved({ jitter: 'decorrelated' }), () => 1)
    const delays = [1, 2, 3, 4].map(failures => {
      backoff.failures = failures
      return backoff.nextDelay(0)
    })
    expect(delays).toEqual([1_500, 4_500, 13_500, 16_000])
    backoff.healthy()
    expect(backoff.nextDelay(0)).toBe(1_500)
  })

  test('0.25 gives half a second, 1, 2, 4, 8 and 16 s, each give or take a quarter', () => {
    for (const [index, nominal] of [500, 1_000, 2_000, 4_000, 8_000, 16_000].entries()) {
      expectRange(drawn({ jitter: 0.25 }, index + 1), 0.75 * nominal, 1.25 * nominal)
    }
  })

  test('1 spreads from nothing to twice the delay', () => {
    expectRange(drawn({ jitter: 1 }, 3), 0, 4_000)
  })

  test('0 is exact', () => {
    expect(drawn({ jitter: 0 }, 3)).toEqual({ min: 2_000, max: 2_000 })
  })

  test('clients that share a server and a moment do not come back together', () => {
    const delays = Array.from({ length: 1_000 }, (_, client) => {
      const backoff = new Backoff(resolved(), seeded(client))
      backoff.failures = 1
      return backoff.nextDelay(0)
    })
    const busiest = Math.max(...Array.from({ length: 10 }, (_, slot) => inSlot(delays, 50 * slot, 50)))
    // A tenth each, if they are spread evenly over the ten slots.
    expect(busiest).toBeLessThan(150)
  })
})

function inSlot(delays: number[], from: number, width: number): number {
  return delays.filter(delay => delay >= from && delay < from + width).length
}

describe('what the server asks for', () => {
  test('a floor is never undercut, and is jittered upwards by as much again', () => {
    expectRange(drawn({}, 1, { floorMs: 3_000 }), 3_000, 6_000)
  })

  test('above the floor the delay grows with the failures', () => {
    expectRange(drawn({}, 6, { floorMs: 3_000 }), 3_000, 19_000)
  })

  test('a floor holds under each kind of jitter', () => {
    for (const jitter of ['full', 'equal', 'decorrelated', 0, 0.5, 1] as const) {
      expect(drawn({ jitter }, 1, { floorMs: 2_000 }).min).toBeGreaterThanOrEqual(2_000)
    }
  })

  test('without jitter the longer of floor and delay is waited', () => {
    expect(drawn({ jitter: 0 }, 1, { floorMs: 2_000 })).toEqual({ min: 2_000, max: 2_000 })
    expect(drawn({ jitter: 0 }, 5, { floorMs: 2_000 })).toEqual({ min: 8_000, max: 8_000 })
  })

  test('a base of 0 frees no retry from the floor', () => {
    expectRange(drawn({ baseMs: 0 }, 1, { floorMs: 1_000 }), 1_000, 2_000)
  })

  test.each([
    ['0 means 100 ms: a poll may be quick, but never a loop', 0, 100],
    ['50 ms are raised to 100 ms', 50, 100],
    ['a usual value stays as it is', 2_500, 2_500],
    ['99999999999 means an hour, not an overflown timer', 99_999_999_999, HOUR],
    ['400 digits, which parse to Infinity, mean an hour', Number('9'.repeat(400)), HOUR],
    ['2^31 ms, one more than a timer takes, mean an hour', 2 ** 31, HOUR],
  ])('%s', (_, asked, meant) => {
    expect(clampServerDelay(asked)).toBe(meant)
    const backoff = new Backoff(resolved(), () => 0)
    backoff.serverAsked(asked)
    expect(backoff.retryMs).toBe(meant)
    expect(backoff.nextDelay(0)).toBe(meant)
  })

  test('a `retry:` field holds for the rest of the stream, also after proof of health', () => {
    const backoff = new Backoff(resolved(), () => 0)
    backoff.serverAsked(7_000)
    backoff.healthy()
    expect([backoff.nextDelay(0), backoff.nextDelay(0)]).toEqual([7_000, 7_000])
    backoff.serverAsked(200)
    expect(backoff.nextDelay(0)).toBe(200)
  })

  test('of `retry:` and Retry-After the longer one is the floor, and Retry-After counts once', () => {
    const backoff = new Backoff(resolved(), () => 0)
    backoff.serverAsked(1_000)
    expect([backoff.nextDelay(5_000), backoff.nextDelay(0)]).toEqual([5_000, 1_000])
  })

  test('`retry: 0` still grows with the failures', () => {
    const backoff = new Backoff(resolved(), () => 1)
    backoff.serverAsked(0)
    const delays = [1, 2, 3, 4].map(failures => {
      backoff.failures = failures
      return backoff.nextDelay(0)
    })
    expect(delays).toEqual([600, 1_100, 2_100, 4_100])
  })
})

describe('the count of failures', () => {
  test('is forgotten on proof of health', () => {
    const backoff = new Backoff(resolved({ jitter: 0 }), () => 0)
    backoff.failures = 5
    expect(backoff.nextDelay(0)).toBe(8_000)
    backoff.healthy()
    expect(backoff.failures).toBe(0)
    expect(backoff.nextDelay(0)).toBe(500)
  })

  test('is exhausted at maxAttempts, and by default never', () => {
    const three = new Backoff(resolved({ maxAttempts: 3 }), Math.random)
    const endless = new Backoff(resolved(), Math.random)
    three.failures = 2
    endless.failures = 1_000_000
    expect([three.exhausted, endless.exhausted]).toEqual([false, false])
    three.failures = 3
    expect(three.exhausted).toBe(true)
  })

  test('needs ten seconds of life by default before bytes alone prove health', () => {
    expect(new Backoff(resolved(), Math.random).resetAfterMs).toBe(10_000)
    expect(new Backoff(resolved({ resetAfterMs: 5 }), Math.random).resetAfterMs).toBe(5)
  })
})

test('delays are whole milliseconds', () => {
  const backoff = new Backoff(resolved(), seeded(3))
  backoff.failures = 4
  for (let draw = 0; draw < 100; draw++) expect(Number.isInteger(backoff.nextDelay(0))).toBe(true)
})

test('switched off, nothing is waited for, whatever happened', () => {
  const backoff = new Backoff(false, () => 1)
  backoff.failures = 50
  backoff.serverAsked(60_000)
  expect([backoff.nextDelay(0), backoff.exhausted]).toEqual([0, false])
  expect([backoff.maxMs, backoff.resetAfterMs]).toEqual([0, 10_000])
})

describe('an exact pace', () => {
  const EXACT = { retry: 'exact' } as const

  test('is what the server asked for and at most 100 ms more, after an end in good health and after one failure', () => {
    for (const failures of [0, 1]) expectRange(drawn(EXACT, failures, { floorMs: 500 }), 500, 600)
  })

  test('is a floor for the growing delays from the second failure in a row on', () => {
    expectRange(drawn(EXACT, 4, { floorMs: 500 }), 500, 4_500)
  })

  test('changes nothing where the server did not ask', () => {
    expectRange(drawn(EXACT, 3), 0, 2_000)
  })
})
