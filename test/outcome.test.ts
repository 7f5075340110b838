import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SseError, type SseErrorCode, SseHttpError } from '../src/errors.ts'
import {
  dialFailure,
  dropReason,
  hasFraming,
  isEventStream,
  isRedirect,
  judgeResponse,
  publicUrl,
  readFailure,
  retryAfter,
} from '../src/outcome.ts'
import { fetchFailed, judged, SECRET, URL_WITH_SECRETS } from './verdict.ts'

const EVENTS = { 'content-type': 'text/event-stream' }
const HTML = { 'content-type': 'text/html; charset=utf-8' }

describe('a status', () => {
  test('200 with an event stream is a stream, before and after the first open', () => {
    expect([judged(200, EVENTS, false), judged(200, EVENTS, true)]).toEqual([undefined, undefined])
  })

  test('204 is the end, whatever its headers say', () => {
    expect([judged(204, {}, false), judged(204, EVENTS, true)]).toEqual(['end', 'end'])
  })

  test.each([408, 425, 429, 500, 502, 503, 504])('%d is dialled again', status => {
    for (const everOpened of [false, true]) {
      expect(judged(status, HTML, everOpened)).toMatchObject({
        code: 'ERR_SSE_HTTP',
        status,
        retryable: true,
      })
    }
  })

  test.each([
    201, 202, 203, 205, 206, 300, 304, 400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 413, 415, 418,
    421, 422, 423, 424, 426, 428, 431, 451, 501, 505, 507, 508, 511, 599,
  ])('%d is final', status => {
    for (const everOpened of [false, true]) {
      expect(judged(status, EVENTS, everOpened)).toMatchObject({
        code: 'ERR_SSE_HTTP',
        status,
        retryable: false,
        message: `https://api.example.com/v1/events answered ${status}`,
      })
    }
  })

  test('a 503 that calls itself an event stream is no stream', () => {
    expect(judged(503, EVENTS, false)).toBeInstanceOf(SseHttpError)
  })

  test.each([
    [301, true],
    [302, true],
    [303, true],
    [307, true],
    [308, true],
    [300, false],
    [304, false],
    [305, false],
    [200, false],
  ])('%d redirects: %s', (status, redirects) => {
    expect(isRedirect(status)).toBe(redirects)
  })
})

describe('a content type', () => {
  test.each([
    'text/event-stream',
    'text/event-stream;',
    'text/event-stream; charset=utf-8',
    'text/event-stream;charset=windows-1252',
    'text/event-stream ; x=y',
    'text/event-stream\t;x',
    'Text/Event-Stream',
    'TEXT/EVENT-STREAM; CHARSET=UTF-8',
  ])('%j is an event stream', type => {
    expect(isEventStream(new Headers({ 'content-type': type }))).toBe(true)
  })

  test.each([
    'text/event-streamx',
    'text/event-stream-x; charset=utf-8',
    'xtext/event-stream',
    'text/x-bogus',
    'text/plain; text/event-stream',
    'application/json',
    'text/html, text/event-stream',
    'text / event-stream',
    '"text/event-stream"',
    '',
  ])('%j is none', type => {
    expect(isEventStream(new Headers({ 'content-type': type }))).toBe(false)
  })

  test('that is another, or missing, is told without its parameters', () => {
    expect(judged(200, HTML, false)).toMatchObject({
      message: 'https://api.example.com/v1/events answered 200 with text/html, not text/event-stream',
    })
    expect(judgeResponse(new Response(null), URL_WITH_SECRETS, false)).toMatchObject({
      message: 'https://api.example.com/v1/events answered 200 with no content type, not text/event-stream',
    })
  })

  test('that is missing is none', () => {
    expect(isEventStream(new Headers())).toBe(false)
  })

  test('of another kind is final before the first open, and dialled again after it', () => {
    const [before, after] = [judged(200, HTML, false), judged(200, HTML, true)]
    expect(before).toMatchObject({ code: 'ERR_SSE_CONTENT_TYPE', status: 200, retryable: false })
    expect(after).toMatchObject({ code: 'ERR_SSE_CONTENT_TYPE', status: 200, retryable: true })
  })
})

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 31, 12, 0, 0)
  const asked = (value: string) => retryAfter(new Headers({ 'retry-after': value }), now)

  test.each([
    ['0', 0],
    ['2', 2_000],
    [' 120 ', 120_000],
    ['99999999999', 99_999_999_999_000],
    ['Sat, 31 Jan 2026 12:00:30 GMT', 30_000],
    ['Saturday, 31-Jan-26 12:00:30 GMT', 30_000],
    ['Sat Jan 31 12:00:30 2026', 30_000],
    ['Sat, 31 Jan 2026 11:00:00 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('%j means %d ms', (value, ms) => {
    expect(asked(value)).toBe(ms)
  })

  test.each([
    '',
    'soon',
    '-5',
    '1.5',
    '2s',
    '0x10',
    '1e3',
    'NaN',
    '2026-01-31',
    'after Sat, 31 Jan 2026 12:00:30 GMT',
    'Sat, 31 Jan 2026 12:00:30 GMT or later',
  ])('%j means nothing', value => {
    expect(asked(value)).toBeUndefined()
  })

  test.each(['America/St_Johns', 'Asia/Kathmandu'])('means the same to a client in %s', zone => {
    vi.stubEnv('TZ', zone)
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(asked('Sat Jan 31 12:00:30 2026')).toBe(30_000)
  })

  test('may be absent', () => {
    expect(retryAfter(new Headers(), now)).toBeUndefined()
  })

  test('is carried by the error', () => {
    expect(judged(503, { 'retry-after': '7' }, false)).toMatchObject({ retryAfterMs: 7_000 })
    expect(judged(503, {}, false)).toMatchObject({ retryAfterMs: undefined })
  })
})

describe('the end of a body proves that it is complete', () => {
  test.each([
    [{ 'transfer-encoding': 'chunked' }, true],
    [{ 'transfer-encoding': 'gzip, Chunked' }, true],
    [{ 'content-length': '12' }, true],
    [{}, false],
    [{ connection: 'close' }, false],
    [{ 'transfer-encoding': 'unchunked' }, false],
  ])('over our own HTTP/1.1, with %j: %s', (headers, complete) => {
    expect(hasFraming(new Headers(headers as Record<string, string>), false)).toBe(complete)
  })

  test('over HTTP/2 and fetches that hide framing, unless a Connection header gives HTTP/1.1 away', () => {
    expect(hasFraming(new Headers(), true)).toBe(true)
    expect(hasFraming(new Headers({ connection: 'close' }), true)).toBe(false)
    expect(hasFraming(new Headers({ connection: 'close', 'transfer-encoding': 'chunked' }), true)).toBe(true)
  })
})

test('a URL is told as origin and path', () => {
  expect(publicUrl(new URL(`https://u:${SECRET}@h:8443/a/b?q=${SECRET}#${SECRET}`))).toBe(
    'https://h:8443/a/b',
  )
})

test('no text of any verdict holds a query string or the value of a header', () => {
  const headers = { authorization: SECRET, 'x-trace': SECRET, location: `/${SECRET}`, 'retry-after': '1' }
  const texts = [
    judged(404, headers, false),
    judged(503, headers, true),
    judged(200, { ...headers, 'content-type': `text/html; boundary=${SECRET}` }, false),
    judged(200, headers, false),
    dialFailure(fetchFailed('ENOTFOUND'), URL_WITH_SECRETS.host, false, false),
    dialFailure(new TypeError(`bad value ${SECRET}`), URL_WITH_SECRETS.host, false, false),
    readFailure(new Error(`bad ${SECRET}`)),
  ].map(error => (error as SseError).message)
  expect(texts).toHaveLength(7)
  expect(texts.join()).not.toContain(SECRET)
  expect(texts.join()).not.toContain('token')
})

test.each([
  ['ERR_SSE_END', 'end'],
  ['ERR_SSE_HEARTBEAT', 'silence'],
  ['ERR_SSE_ROTATED', 'rotate'],
  ['ERR_SSE_NETWORK', 'network'],
  ['ERR_SSE_CERTIFICATE', 'network'],
  ['ERR_SSE_OPEN_TIMEOUT', 'network'],
  ['ERR_SSE_HTTP', 'refused'],
  ['ERR_SSE_CONTENT_TYPE', 'refused'],
  ['ERR_SSE_REDIRECT', 'refused'],
  ['ERR_SSE_REQUEST', 'refused'],
  ['ERR_SSE_EVENT_TOO_LARGE', 'refused'],
] satisfies [SseErrorCode, string][])('%s is told as the drop reason %s', (code, reason) => {
  expect(dropReason(new SseError(code, 'x'))).toBe(reason)
})
