import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { SseCircuitOpenError, SseError, SseGapError, SseHeartbeatError, SseHttpError } from '../src/errors.ts'
import { Lifecycle } from '../src/lifecycle.ts'

const SECRET = 'tok-5ecret'

function httpError(headers: Headers = new Headers()): SseHttpError {
  return new SseHttpError('ERR_SSE_HTTP', 'answered 503', {
    status: 503,
    url: 'https://api.example.com/events',
    headers,
    retryable: true,
    retryAfterMs: 2_000,
  })
}

describe('each error', () => {
  test.each([
    [new SseError('ERR_SSE_NETWORK', 'x'), 'SseError', 'ERR_SSE_NETWORK'],
    [httpError(), 'SseHttpError', 'ERR_SSE_HTTP'],
    [new SseHeartbeatError('byte', 30_000), 'SseHeartbeatError', 'ERR_SSE_HEARTBEAT'],
    [
      new SseCircuitOpenError({ failures: 6, retryAt: 5, lastEventId: '7', cause: undefined }),
      'SseCircuitOpenError',
      'ERR_SSE_CIRCUIT_OPEN',
    ],
    [new SseGapError({ reason: 'missing', after: '1', before: '3' }), 'SseGapError', 'ERR_SSE_GAP'],
  ])('is an SseError with a name and a stable code: %s', (error, name, code) => {
    expect(error).toBeInstanceOf(SseError)
    expect(error).toBeInstanceOf(Error)
    expect([error.name, error.code]).toEqual([name, code])
    expect(error.stack).toContain(name)
    expect(error.history).toEqual([])
  })

  test('is final unless it says otherwise, and carries no delay that nobody asked for', () => {
    const error = new SseError('ERR_SSE_REQUEST', 'x')
    expect([error.retryable, error.retryAfterMs]).toEqual([false, undefined])
  })

  test('keeps its cause, and has none when none was given', () => {
    const cause = new Error('why')
    expect(new SseError('ERR_SSE_NETWORK', 'x', { cause }).cause).toBe(cause)
    expect('cause' in new SseError('ERR_SSE_NETWORK', 'x')).toBe(false)
    expect('cause' in new SseError('ERR_SSE_NETWORK', 'x', { cause: undefined })).toBe(true)
  })

  test('keeps its history out of a console and of JSON', () => {
    const error = new SseError('ERR_SSE_NETWORK', 'x')
    error.history = [{ type: 'dial', at: 1 }]
    expect(Object.keys(error)).not.toContain('history')
    expect(inspect(error)).not.toContain('dial')
    expect(JSON.stringify(error)).not.toContain('dial')
    expect(error.history).toHaveLength(1)
  })
})

describe('SseHttpError', () => {
  test('tells status, address and what the server asked for', () => {
    expect(httpError()).toMatchObject({
      status: 503,
      url: 'https://api.example.com/events',
      retryable: true,
      retryAfterMs: 2_000,
    })
  })

  test('has the headers, but not where a log would print them', () => {
    const error = httpError(new Headers({ 'x-request-id': SECRET }))
    expect(error.headers.get('x-request-id')).toBe(SECRET)
    expect(Object.keys(error)).not.toContain('headers')
    expect(inspect(error)).not.toContain(SECRET)
    expect(JSON.stringify(error)).not.toContain(SECRET)
    expect({ ...error }).not.toHaveProperty('headers')
  })

  test('has no Set-Cookie, in any spelling and number', () => {
    const headers = new Headers([
      ['Set-Cookie', `a=${SECRET}`],
      ['set-cookie', `b=${SECRET}`],
      ['content-type', 'text/html'],
    ])
    expect([...httpError(headers).headers]).toEqual([['content-type', 'text/html']])
  })

  test('has a copy: the response’s own headers stay as they are', () => {
    const headers = new Headers({ 'set-cookie': 'a=b' })
    httpError(headers)
    expect(headers.get('set-cookie')).toBe('a=b')
  })
})

test('SseHeartbeatError is worth another dial and says how long the silence was', () => {
  expect(new SseHeartbeatError('byte', 30_500)).toMatchObject({ silentMs: 30_500, retryable: true })
})

test('SseCircuitOpenError says how many failures, when to come back, where to resume, and what went wrong last', () => {
  const cause = new SseError('ERR_SSE_NETWORK', 'No connection to api.example.com (ENOTFOUND)')
  const error = new SseCircuitOpenError({ failures: 6, retryAt: 1_234, lastEventId: '7', cause })
  expect(error).toMatchObject({ failures: 6, retryAt: 1_234, lastEventId: '7', retryable: true, cause })
  expect(error.message).toBe(
    'The circuit breaker is open after 6 failures in a row; the last one: No connection to api.example.com (ENOTFOUND)',
  )
})

test('SseCircuitOpenError has no word on a last failure that another stream had', () => {
  const error = new SseCircuitOpenError({ failures: 6, retryAt: 1, lastEventId: undefined, cause: undefined })
  expect(error.message).toBe('The circuit breaker is open after 6 failures in a row')
})

test('SseGapError says why, after which id and before which', () => {
  const gap = { reason: 'cursor-ignored', after: '7', before: '9' } as const
  expect(new SseGapError(gap)).toMatchObject({ ...gap, retryable: false })
})

test('the history of an error is the last 20 lifecycle events, oldest first, and does not change afterwards', () => {
  const lifecycle = new Lifecycle(undefined, () => {})
  for (let index = 1; index <= 25; index++) {
    lifecycle.tell('wait', { delayMs: index, failures: 1, reason: 'backoff' })
  }
  const { history } = lifecycle
  lifecycle.tell('close', { reason: 'end', error: undefined })
  expect(history).toHaveLength(20)
  expect(history.map(entry => (entry as unknown as { delayMs: number }).delayMs)).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 6),
  )
  expect(lifecycle.history.at(-1)?.type).toBe('close')
  expect(lifecycle.history).toHaveLength(20)
})
