import { beforeEach, describe, expect, test } from 'vitest'
import { Breaker, type BreakerOptions } from '../../src/layers/breaker.ts'
import { range, seeded } from '../random.ts'

/** On a clock of the test's own. */
let now = 0
beforeEach(() => {
  now = 1_000_000
})

const stream = (name: string) => ({ name })

function breakerWith(options: BreakerOptions = {}, random = () => 0): Breaker {
  return new Breaker(options, random)
}

/** Opens `breaker` by failures in a row. */
function trip(breaker: Breaker, asker: object = stream('tripper')): void {
  for (let failure = 0; failure < breaker.options.threshold; failure++) breaker.failed(asker, now)
}

describe('closed', () => {
  test('everyone may dial', () => {
    const breaker = breakerWith()
    expect(breaker.admit(stream('a'), now)).toEqual({ go: true })
    expect(breaker.admit(stream('b'), now)).toEqual({ go: true })
    expect([breaker.state, breaker.retryInMs(now)]).toEqual(['closed', 0])
  })

  test('it opens at the sixth failure in a row, and not before', () => {
    const breaker = breakerWith()
    const asker = stream('a')
    for (let failure = 1; failure <= 5; failure++) breaker.failed(asker, now)
    expect([breaker.state, breaker.failures]).toEqual(['closed', 5])
    breaker.failed(asker, now)
    expect([breaker.state, breaker.failures]).toEqual(['open', 6])
  })

  test('proof of health in between starts the count anew', () => {
    const breaker = breakerWith()
    for (let failure = 1; failure <= 5; failure++) breaker.failed(stream('a'), now)
    breaker.healthy()
    for (let failure = 1; failure <= 5; failure++) breaker.failed(stream('a'), now)
    expect(breaker.state).toBe('closed')
  })

  test('the failures of all streams that share it add up', () => {
    const breaker = breakerWith({ threshold: 3 })
    for (const name of ['a', 'b', 'c']) breaker.failed(stream(name), now)
    expect(breaker.state).toBe('open')
  })

  test('a threshold of 1 opens at the first failure', () => {
    const breaker = breakerWith({ threshold: 1 })
    breaker.failed(stream('a'), now)
    expect(breaker.state).toBe('open')
  })
})

describe('open', () => {
  test('nobody dials for 30 s, jittered up by half', () => {
    const { min, max } = range(1_000, () => {
      const breaker = breakerWith({}, random)
      trip(breaker)
      return breaker.retryInMs(now)
    })
    expect(min).toBeGreaterThanOrEqual(30_000)
    expect(min).toBeLessThan(30_300)
    expect(max).toBeLessThanOrEqual(45_000)
    expect(max).toBeGreaterThan(44_700)
  })
  const random = seeded(11)

  test('an asker is told how long to wait', () => {
    const breaker = breakerWith()
    trip(breaker)
    now += 12_000
    expect(breaker.admit(stream('a'), now)).toEqual({ go: false, retryInMs: 18_000 })
  })

  test('failures of connections that were under way do not prolong the cooldown', () => {
    const breaker = breakerWith()
    trip(breaker)
    now += 20_000
    breaker.failed(stream('late'), now)
    expect([breaker.retryInMs(now), breaker.failures]).toEqual([10_000, 7])
  })

  test('a stream that is open and brings news closes it for all', () => {
    const breaker = breakerWith()
    trip(breaker)
    breaker.healthy()
    expect([breaker.state, breaker.failures, breaker.retryInMs(now)]).toEqual(['closed', 0, 0])
    expect(breaker.admit(stream('a'), now)).toEqual({ go: true })
  })

  test('force cuts the cooldown short, for one asker', () => {
    const breaker = breakerWith()
    trip(breaker)
    expect(breaker.admit(stream('a'), now, true)).toEqual({ go: true })
    expect(breaker.state).toBe('half-open')
    expect(breaker.admit(stream('b'), now)).toEqual({ go: false, retryInMs: 30_000 })
  })
})

describe('half-open', () => {
  test('after the cooldown exactly one asker gets the probe', () => {
    const breaker = breakerWith()
    trip(breaker)
    now += 30_000
    const answers = Array.from({ length: 50 }, (_, index) => breaker.admit(stream(String(index)), now).go)
    expect(answers.filter(go => go)).toHaveLength(1)
    expect(breaker.state).toBe('half-open')
  })

  test('the prober may ask again, because a redial belongs to its probe', () => {
    const breaker = breakerWith()
    const prober = stream('prober')
    trip(breaker)
    now += 30_000
    breaker.admit(prober, now)
    expect(breaker.admit(prober, now + 1)).toEqual({ go: true })
  })

  test('a probe that fails opens it again at once, for twice as long, up to 5 minutes', () => {
    const breaker = breakerWith()
    const prober = stream('prober')
    trip(breaker)
    const cooldowns = [breaker.retryInMs(now)]
    for (let probe = 0; probe < 6; probe++) {
      now += breaker.retryInMs(now)
      expect(breaker.admit(prober, now)).toEqual({ go: true })
      breaker.failed(prober, now)
      expect(breaker.state).toBe('open')
      cooldowns.push(breaker.retryInMs(now))
    }
    expect(cooldowns).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000])
  })

  test('doubled cooldowns are jittered, too', () => {
    const breaker = breakerWith({}, () => 1)
    const prober = stream('prober')
    trip(breaker)
    now += breaker.retryInMs(now)
    breaker.admit(prober, now)
    breaker.failed(prober, now)
    expect(breaker.retryInMs(now)).toBe(90_000)
  })

  test('a cooldown that was given longer than 5 minutes is kept and not doubled', () => {
    const breaker = breakerWith({ cooldownMs: 600_000 })
    const prober = stream('prober')
    trip(breaker)
    now += 600_000
    breaker.admit(prober, now)
    breaker.failed(prober, now)
    expect(breaker.retryInMs(now)).toBe(600_000)
  })

  test('proof of health closes it and puts the cooldown back', () => {
    const breaker = breakerWith()
    const prober = stream('prober')
    trip(breaker)
    now += 30_000
    breaker.admit(prober, now)
    breaker.failed(prober, now)
    now += 60_000
    breaker.admit(prober, now)
    breaker.healthy()
    expect(breaker.state).toBe('closed')
    trip(breaker)
    expect(breaker.retryInMs(now)).toBe(30_000)
  })

  test('the failure of another stream is not the verdict of the probe', () => {
    const breaker = breakerWith()
    trip(breaker)
    now += 30_000
    breaker.admit(stream('prober'), now)
    breaker.failed(stream('other'), now)
    expect(breaker.state).toBe('half-open')
  })

  test('a probe that its user closes frees the slot for the next asker at once', () => {
    const breaker = breakerWith()
    const prober = stream('prober')
    trip(breaker)
    now += 30_000
    breaker.admit(prober, now)
    breaker.release(prober, now)
    expect(breaker.state).toBe('open')
    expect(breaker.admit(stream('next'), now)).toEqual({ go: true })
  })

  test('a slot that is given back does not double the cooldown', () => {
    const breaker = breakerWith()
    const [prober, next] = [stream('prober'), stream('next')]
    trip(breaker)
    now += 30_000
    breaker.admit(prober, now)
    breaker.release(prober, now)
    breaker.admit(next, now)
    breaker.failed(next, now)
    expect(breaker.retryInMs(now)).toBe(60_000)
  })

  test('only the prober can give the slot back', () => {
    const breaker = breakerWith()
    trip(breaker)
    now += 30_000
    breaker.admit(stream('prober'), now)
    breaker.release(stream('other'), now)
    expect(breaker.state).toBe('half-open')
    expect(breaker.admit(stream('next'), now).go).toBe(false)
  })

  test('a slot that was held for a whole cooldown without a verdict goes to the next asker', () => {
    const breaker = breakerWith()
    const [lost, next] = [stream('lost'), stream('next')]
    trip(breaker)
    now += 30_000
    breaker.admit(lost, now)
    expect(breaker.admit(next, now + 29_999)).toEqual({ go: false, retryInMs: 1 })
    expect(breaker.admit(next, now + 30_000)).toEqual({ go: true })
    expect(breaker.admit(lost, now + 30_000).go).toBe(false)
  })
})

describe('watchers', () => {
  test('hear of each change of state and of nothing else', () => {
    const breaker = breakerWith({ threshold: 2 })
    const prober = stream('prober')
    const seen: string[] = []
    breaker.watch(() => seen.push(breaker.state))
    breaker.healthy()
    breaker.failed(prober, now)
    breaker.failed(prober, now)
    breaker.failed(prober, now)
    now += 30_000
    breaker.admit(prober, now)
    breaker.failed(prober, now)
    now += 60_000
    breaker.admit(prober, now)
    breaker.healthy()
    breaker.healthy()
    expect(seen).toEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
  })

  test('hear nothing more once they have left, also when they leave while being told', () => {
    const breaker = breakerWith({ threshold: 1 })
    let calls = 0
    const leave = breaker.watch(() => {
      calls++
      leave()
    })
    breaker.watch(() => calls++)
    breaker.failed(stream('a'), now)
    breaker.healthy()
    expect(calls).toBe(3)
  })
})
