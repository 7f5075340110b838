import { describe, expect, test } from 'vitest'
import { Breaker } from '../src/index.ts'
import { nested, ODD, refusal, resolve } from './resolve.ts'

describe('without options', () => {
  test('every layer is on, with the defaults of the design', () => {
    expect(resolve()).toMatchObject({
      method: 'GET',
      openTimeoutMs: 30_000,
      maxEventChars: 16_777_216,
      reconnectOnEnd: true,
      repeatable: true,
      tcp: { keepAliveDelayMs: 15_000, connectTimeoutMs: 10_000, noDelay: true, allowH2: false },
      heartbeat: { timeoutMs: 'auto', eventTimeoutMs: 0, probe: undefined },
      resume: { ack: 'next', onGap: 'report' },
      backoff: {
        baseMs: 500,
        maxMs: 16_000,
        factor: 2,
        jitter: 'full',
        resetAfterMs: 10_000,
        maxAttempts: Number.POSITIVE_INFINITY,
      },
      breaker: { options: { threshold: 6, cooldownMs: 30_000, onOpen: 'auto' } },
      dedupe: { capacity: 10_000, by: 'id' },
    })
    expect(resolve()).not.toHaveProperty('maxConnectionMs')
  })

  test('no two streams share a breaker that nobody made', () => {
    expect(resolve().breaker).not.toBe(resolve().breaker)
  })
})

test('an option that is undefined counts as not given', () => {
  const given = {
    openTimeoutMs: undefined,
    backoff: { baseMs: undefined },
    heartbeat: undefined,
    body: undefined,
  }
  expect(resolve(given)).toMatchObject({ openTimeoutMs: 30_000, backoff: { baseMs: 500 } })
})

test('what was given stands beside the defaults of its group', () => {
  expect(resolve({ backoff: { baseMs: 50 }, dedupe: { by: 'id+data' } })).toMatchObject({
    backoff: { baseMs: 50, maxMs: 16_000 },
    dedupe: { by: 'id+data', capacity: 10_000 },
  })
})

test('a first delay beyond the longest delay by default raises it, unless it was given, too', () => {
  expect(resolve({ backoff: { baseMs: 30_000 } }).backoff).toMatchObject({ maxMs: 30_000 })
  expect(resolve({ backoff: { baseMs: 30_000, maxMs: undefined } }).backoff).toMatchObject({ maxMs: 30_000 })
  expect(resolve({ backoff: { baseMs: 30_000, maxMs: 20_000 } }).backoff).toMatchObject({ maxMs: 20_000 })
})

test('what the caller changes afterwards changes nothing', () => {
  const backoff = { baseMs: 50 }
  const resolved = resolve({ backoff })
  backoff.baseMs = -1
  expect(resolved.backoff).toMatchObject({ baseMs: 50 })
})

describe('numbers', () => {
  test.each([
    ['openTimeoutMs', 100, 600_000],
    ['maxConnectionMs', 1_000, 86_400_000],
    ['maxEventChars', 1, 536_870_888],
    ['tcp.keepAliveDelayMs', 1_000, 7_200_000],
    ['tcp.connectTimeoutMs', 100, 300_000],
    ['heartbeat.timeoutMs', 50, 86_400_000],
    ['heartbeat.eventTimeoutMs', 50, 86_400_000],
    ['backoff.baseMs', 0, 3_600_000],
    ['backoff.maxMs', 1, 3_600_000],
    ['backoff.factor', 1, 10],
    ['backoff.jitter', 0, 1],
    ['backoff.resetAfterMs', 0, 3_600_000],
    ['backoff.maxAttempts', 1, Number.POSITIVE_INFINITY],
    ['breaker.threshold', 1, 1_000_000],
    ['breaker.cooldownMs', 1, 3_600_000],
    ['dedupe.capacity', 1, 10_000_000],
  ])('%s is taken from %d to %d, and refused by name with every other value', (name, min, max) => {
    expect(() => resolve(nested(name, min))).not.toThrow()
    expect(() => resolve(nested(name, max))).not.toThrow()
    // 0 switches the heartbeat's timeouts off.
    const below = name.startsWith('heartbeat') ? min - 1 : min - 0.5
    for (const value of [below, ...(max === Number.POSITIVE_INFINITY ? [] : [max + 1])]) {
      expect(refusal(nested(name, value))).toContain(`${name}: ${value} is not `)
    }
    for (const [value, words] of ODD) {
      // The one number that may come from a function.
      if (name === 'heartbeat.timeoutMs' && typeof value === 'function') continue
      const message = refusal(nested(name, value))
      expect(message).toContain(`${name}: `)
      if (!name.startsWith('breaker')) expect(message).toContain(`${words} is not `)
    }
  })

  test('the message says what is allowed', () => {
    expect(refusal({ openTimeoutMs: 5 })).toBe('openTimeoutMs: 5 is not a number from 100 to 600,000')
    expect(refusal({ dedupe: { by: 'data' } })).toBe('dedupe.by: "data" is not "id" or "id+data"')
    expect(refusal({ reconnectOnEnd: 1 })).toBe('reconnectOnEnd: 1 is not true or false')
  })

  test("0 switches the heartbeat's timeouts off, and 'auto' or a function is a timeout", () => {
    const timeoutMs = () => 0
    expect(resolve({ heartbeat: { timeoutMs } }).heartbeat).toMatchObject({ timeoutMs })
    expect(resolve({ heartbeat: { timeoutMs: 0, eventTimeoutMs: 0 } }).heartbeat).toMatchObject({
      timeoutMs: 0,
    })
    expect(resolve({ heartbeat: { timeoutMs: 'auto' } }).heartbeat).toMatchObject({ timeoutMs: 'auto' })
    expect(refusal({ heartbeat: { eventTimeoutMs: 'auto' } })).toContain('heartbeat.eventTimeoutMs: "auto"')
  })

  test.each(['afterMs', 'timeoutMs'])('heartbeat.probe.%s is taken from 10 ms to an hour', name => {
    const probe = (value: unknown) => ({ heartbeat: { probe: { send: () => {}, [name]: value } } })
    expect(() => resolve(probe(10))).not.toThrow()
    expect(() => resolve(probe(3_600_000))).not.toThrow()
    for (const value of [0, 9, 3_600_001, ...ODD.map(([odd]) => odd)]) {
      expect(refusal(probe(value))).toContain(`heartbeat.probe.${name}: `)
    }
  })
})

describe('choices', () => {
  test.each([
    ['reconnectOnEnd', [true, false]],
    ['tcp.noDelay', [true, false]],
    ['tcp.allowH2', [true, false]],
    ['resume.ack', ['next', 'manual']],
    ['resume.onGap', ['report', 'throw']],
    ['backoff.jitter', ['full', 'equal', 'decorrelated', 0.5]],
    ['breaker.onOpen', ['auto', 'wait', 'throw']],
    ['dedupe.by', ['id', 'id+data']],
  ])('%s takes its own words only', (name, allowed) => {
    for (const value of allowed) expect(() => resolve(nested(name, value))).not.toThrow()
    for (const value of ['', 'always', 'FULL', 1.5, null, [allowed[0]], () => allowed[0]]) {
      expect(refusal(nested(name, value))).toContain(`${name}: `)
    }
  })
})

describe('functions', () => {
  test.each(['isRetryable', 'onComment', 'onLifecycle', 'fetch', 'heartbeat.probe.send', 'resume.isNext'])(
    '%s is refused by name when it is anything else',
    name => {
      for (const value of [5, 'next', true, {}, [], null]) {
        expect(refusal(nested(name, value))).toMatch(
          new RegExp(`^${name}: .* is not ("decimal" or )?a function$`),
        )
      }
    },
  )

  test("resume.isNext may be 'decimal'", () => {
    expect(() => resolve({ resume: { isNext: 'decimal' } })).not.toThrow()
  })
})

describe('groups', () => {
  const groups = ['tcp', 'heartbeat', 'resume', 'backoff', 'breaker', 'dedupe'] as const

  test.each(groups)('%s may be false, and then is off', group => {
    expect(resolve({ [group]: false })).toMatchObject({ [group]: false })
  })

  test.each(groups)('%s may be empty, and then is on with its defaults', group => {
    expect(resolve({ [group]: {} })[group]).toEqual(
      group === 'breaker' ? expect.any(Breaker) : resolve()[group],
    )
  })

  test.each(groups)('%s is refused when it is neither an object nor false', group => {
    for (const value of [true, null, 5, 0, 'auto', '', [], [{}], () => ({})]) {
      expect(refusal({ [group]: value })).toMatch(new RegExp(`^${group}: .* is not an object or false$`))
    }
  })

  test.each([...groups, 'heartbeat.probe'])('%s refuses an option that it does not have', group => {
    expect(refusal(nested(`${group}.timeout`, 5))).toContain(`${group}.timeout: no such option`)
  })

  test('an unknown option beside them is refused, with the list of those that exist', () => {
    expect(refusal({ timeout: 5 })).toMatch(/^options\.timeout: no such option; options has method, headers/)
    expect(refusal({ heartBeat: {} })).toContain('options.heartBeat')
  })

  test.each([[null], [5], ['x'], [[]], [() => ({})], [true]])('options cannot be %s', options => {
    expect(refusal(options)).toMatch(/^options: .* is not an object$/)
  })

  test.each([[null], [5], ['ping'], [false], [() => {}]])('heartbeat.probe cannot be %s', probe => {
    expect(refusal({ heartbeat: { probe } })).toMatch(/^heartbeat\.probe: .* is not an object$/)
  })

  test('heartbeat.probe needs a way to ask', () => {
    expect(refusal({ heartbeat: { probe: {} } })).toBe('heartbeat.probe.send: undefined is not a function')
    const { heartbeat } = resolve({ heartbeat: { probe: { send: () => {} } } })
    expect(heartbeat).toMatchObject({ probe: { afterMs: 10_000, timeoutMs: 3_000 } })
  })

  test('a Breaker may be shared', () => {
    const breaker = new Breaker()
    expect(resolve({ breaker }).breaker).toBe(breaker)
    expect(resolve({ breaker }).breaker).toBe(breaker)
  })
})

describe('resume', () => {
  test('lastEventId and queryParameter are strings', () => {
    for (const name of ['lastEventId', 'queryParameter']) {
      for (const value of [5, null, [], {}, () => '5']) {
        expect(refusal({ resume: { [name]: value } })).toContain(`resume.${name}: `)
      }
    }
  })

  test.each(['a\0', 'a\rb', 'a\nb'])('lastEventId cannot be %j: no event has such an id', lastEventId => {
    expect(refusal({ resume: { lastEventId } })).toContain('resume.lastEventId: no event id contains')
  })

  test('a store loads and saves', () => {
    expect(() => resolve({ resume: { store: { load: () => undefined, save: () => {} } } })).not.toThrow()
    for (const store of [null, 5, 'cursor.json', {}, { load() {} }, { save() {} }, { load: 1, save: 2 }]) {
      expect(refusal({ resume: { store } })).toMatch(
        /^resume\.store: .* is not an object with load\(\) and save\(\)/,
      )
    }
  })
})

describe('a refusal', () => {
  test('comes at construction, before anything is dialled', () => {
    let dials = 0
    const fetch = async () => {
      dials++
      return new Response()
    }
    expect(refusal({ fetch, openTimeoutMs: 1 })).toContain('openTimeoutMs')
    expect(dials).toBe(0)
  })

  test('does not print a long text', () => {
    expect(refusal({ method: `${'x '.repeat(500)}` }).length).toBeLessThan(200)
  })
})

test('an option of a group that is given at the top is told where it belongs', () => {
  expect(refusal({ lastEventId: '3' })).toBe(
    'options.lastEventId: no such option; did you mean resume.lastEventId?',
  )
  expect(refusal({ proxy: 'http://proxy.test' })).toBe(
    'options.proxy: no such option; did you mean tcp.proxy?',
  )
  expect(refusal({ reconectOnEnd: true })).toContain('options has method, headers, body')
})
