import { expect, test } from 'vitest'
import { SseError } from '../../src/errors.ts'
import { Breaker, type BreakerOptions } from '../../src/layers/breaker.ts'

test('options of a breaker have defaults: 6 failures, 30 s, auto', () => {
  expect(new Breaker().options).toEqual({ threshold: 6, cooldownMs: 30_000, onOpen: 'auto' })
})

test('options that are undefined count as not given', () => {
  const given = { threshold: undefined, cooldownMs: undefined } as unknown as BreakerOptions
  expect(new Breaker(given).options).toEqual({ threshold: 6, cooldownMs: 30_000, onOpen: 'auto' })
})

test.each([
  ['threshold', 0, '0 is not a number from 1 to 1000000'],
  ['threshold', 1_000_001, '1000001 is not a number from 1 to 1000000'],
  ['threshold', Number.NaN, 'NaN is not a number from 1 to 1000000'],
  ['threshold', '5', '5 is not a number from 1 to 1000000'],
  ['threshold', null, 'null is not a number from 1 to 1000000'],
  ['threshold', [6], 'an object is not a number from 1 to 1000000'],
  ['cooldownMs', 0, '0 is not a number from 1 to 3600000'],
  ['cooldownMs', -1, '-1 is not a number from 1 to 3600000'],
  ['cooldownMs', 3_600_001, '3600001 is not a number from 1 to 3600000'],
  ['cooldownMs', Number.POSITIVE_INFINITY, 'Infinity is not a number from 1 to 3600000'],
  ['cooldownMs', () => 5, '() => 5 is not a number from 1 to 3600000'],
  ['onOpen', 'sometimes', "sometimes is not 'auto', 'wait' or 'throw'"],
  ['onOpen', true, "true is not 'auto', 'wait' or 'throw'"],
  ['onOpen', null, "null is not 'auto', 'wait' or 'throw'"],
  // A misspelt one would do nothing.
  ['treshold', 3, 'no such option'],
  ['onopen', 'wait', 'no such option'],
])('%s: %s is refused by name', (name, value, why) => {
  const make = () => new Breaker({ [name]: value } as BreakerOptions)
  expect(make).toThrow(SseError)
  expect(make).toThrow(
    expect.objectContaining({ code: 'ERR_SSE_OPTION', message: `breaker.${name}: ${why}` }),
  )
})

test.each(['auto', 'wait', 'throw'] as const)('onOpen may be %s', onOpen => {
  expect(new Breaker({ onOpen }).options.onOpen).toBe(onOpen)
})

test.each([5, 'wait', true, null])('options may not be %s instead of an object', options => {
  expect(() => new Breaker(options as BreakerOptions)).toThrow(
    expect.objectContaining({
      code: 'ERR_SSE_OPTION',
      message: `breaker: ${options} is not an object of options`,
    }),
  )
})
