import { expect } from 'vitest'
import { SseError } from '../src/errors.ts'
import { type ResilientSseOptions, resolveOptions, type UrlOption } from '../src/options.ts'
import { ResilientSse } from '../src/resilient-sse.ts'

export const URL_OF_EVENTS = 'https://api.example.com/events'
export const SECRET = 's3cret'

export function resolve(options?: unknown, url: unknown = URL_OF_EVENTS) {
  return resolveOptions(url as UrlOption, options as ResilientSseOptions | undefined)
}

/** The message of the refusal, at construction. */
export function refusal(options: unknown, url: unknown = URL_OF_EVENTS): string {
  try {
    new ResilientSse(url as UrlOption, options as ResilientSseOptions)
  } catch (error) {
    expect(error).toBeInstanceOf(SseError)
    expect(error).toMatchObject({ code: 'ERR_SSE_OPTION', retryable: false })
    return (error as SseError).message
  }
  return 'not refused'
}

/** `{ a: { b: value } }` for `a.b`. */
export function nested(name: string, value: unknown): unknown {
  return name
    .split('.')
    .reverse()
    .reduce((inner, key) => ({ [key]: inner }), value)
}

/** A value that is of no use as any kind of option, and the words for it. */
export const ODD: [value: unknown, words: string][] = [
  [Number.NaN, 'NaN'],
  ['5', '"5"'],
  [-1, '-1'],
  [null, 'null'],
  [[5], 'an array'],
  [() => 5, 'a function'],
  [{}, 'a value of type object'],
  [5n, 'a value of type bigint'],
  [Symbol('x'), 'a value of type symbol'],
  [Number.NEGATIVE_INFINITY, '-Infinity'],
]
