import { SseError } from 'resilient-sse'
import { EventSource, type EventSourceInit } from 'resilient-sse/eventsource'
import { describe, expect, test } from 'vitest'

const NOWHERE = 'http://127.0.0.1:1/'

function refusal(init: object): string {
  try {
    new EventSource(NOWHERE, init as EventSourceInit).close()
  } catch (error) {
    expect(error).toBeInstanceOf(SseError)
    expect(error).toMatchObject({ code: 'ERR_SSE_OPTION' })
    return (error as SseError).message
  }
  throw new Error('nothing was refused')
}

describe('what cannot take effect is refused by its name:', () => {
  test.each([
    [{ Transport: class {} }, /^Transport: cannot take effect; .*fetch/],
    [{ createConnection: () => {} }, /^createConnection: cannot take effect; .*tcp\.connect/],
    [{ agent: {} }, /^agent: cannot take effect; .*dispatcher/],
    [{ eventSourceClass: class {} }, /^eventSourceClass: cannot take effect/],
    [{ skipDefaultHeaders: true }, /^skipDefaultHeaders: cannot take effect/],
    [{ logger: console }, /^logger: cannot take effect; .*onLifecycle/],
    [{ disableLogger: false }, /^disableLogger: cannot take effect; .*onLifecycle/],
    [{ mode: 'cors' }, /^mode: cannot take effect; give a fetch/],
    [{ retryResetIntervalMillis: 0 }, /^retryResetIntervalMillis: 0 \(never\)/],
    [{ resume: { ack: 'manual' } }, /^resume\.ack: 'manual' cannot take effect/],
    [{ proxy: 'http://p.test', fetch }, /^proxy: cannot take effect beside fetch/],
    [{ https: { ca: 'x' }, fetch }, /^https: cannot take effect beside fetch/],
    [{ method: 'POST', body: 'x', maxConnectionMs: 5_000 }, /^maxConnectionMs: cannot take effect/],
    [{ reconnectInterval: 5 }, /^options\.reconnectInterval: no such option/],
    [
      { heartBeatTimeout: 5 },
      /no such option; options has method, .*, withCredentials, .*, heartbeatTimeout, /,
    ],
    [{ constructor: 5 }, /^options\.constructor: no such option/],
    [JSON.parse('{ "__proto__": {} }'), /^options\.__proto__: no such option/],
    [{ toString: 5 }, /^options\.toString: no such option/],
  ])('%o', (init, message) => {
    expect(refusal(init)).toMatch(message)
  })
})

describe('a bad value is told in the words in which it was given:', () => {
  test.each([
    [{ maxBufferSize: Number.POSITIVE_INFINITY }, /^maxBufferSize: Infinity is not/],
    [{ heartbeatTimeout: 'soon' }, /^heartbeatTimeout: /],
    [{ heartbeatTimeout: Number.POSITIVE_INFINITY }, /^heartbeatTimeout: /],
    [{ lastEventIdQueryParameterName: 5 }, /^lastEventIdQueryParameterName: 5 is not a string/],
    [{ initialRetryDelayMillis: -1 }, /^initialRetryDelayMillis: -1 is not a number/],
    [{ initialRetryDelayMillis: '5' }, /^initialRetryDelayMillis: "5" is not a number/],
    [{ initialRetryDelayMillis: '5', jitterRatio: 0.5 }, /^initialRetryDelayMillis: "5" is not a number/],
    [{ initialRetryDelayMillis: Number.NaN, jitterRatio: 0.5 }, /^initialRetryDelayMillis: NaN is not/],
    [{ maxBackoffMillis: 1e9 }, /^maxBackoffMillis: 1000000000 is not a number/],
    [{ jitterRatio: 1.5 }, /^jitterRatio: .*0 to 1/],
    [{ jitterRatio: '0.5' }, /^jitterRatio: .*0 to 1/],
    [{ readTimeoutMillis: 10 }, /^readTimeoutMillis: 10 is not a number/],
    [{ errorFilter: true }, /^errorFilter: is not a function/],
    [{ https: true }, /^https: true is not an object/],
    [{ proxy: 'proxy.test' }, /^proxy: /],
    [{ retry: -5 }, /^retry: -5 is not a number/],
    [{ max_retry_time: 0 }, /^max_retry_time: 0 is not a number/],
    [{ lastEventId: 7 }, /^lastEventId: 7 is not a string/],
    [{ conformance: 'strict' }, /^conformance: /],
    [{ onLifecycle: 5 }, /^onLifecycle: /],
    [{ breaker: null }, /^breaker: null is not/],
    [{ breaker: 'wait' }, /^breaker: "wait" is not/],
    [{ conformance: 'whatwg', isRetryable: 5 }, /^isRetryable: 5 is not a function/],
    [{ conformance: 'whatwg', backoff: 'none' }, /^backoff: "none" is not/],
    [{ backoff: 5, retry: 5 }, /^retry: backoff is set, too/],
  ])('%o', (init, message) => {
    expect(refusal(init)).toMatch(message)
  })
})

describe('both spellings of one thing are refused:', () => {
  test.each<[object, RegExp]>([
    [
      { heartbeatTimeout: 5_000, heartbeat: { timeoutMs: 5_000 } },
      /^heartbeatTimeout: heartbeat\.timeoutMs is set, too/,
    ],
    [{ heartbeatTimeout: 5_000, heartbeat: false }, /^heartbeatTimeout: heartbeat is set, too/],
    [
      { heartbeatTimeout: 5_000, readTimeoutMillis: 5_000 },
      /^readTimeoutMillis: heartbeatTimeout is set, too/,
    ],
    [{ retry: 5, backoff: false }, /^retry: backoff is set, too/],
    [{ retry: 5, initialRetryDelayMillis: 5 }, /^initialRetryDelayMillis: retry is set, too/],
    [{ jitterRatio: 0.5, backoff: { jitter: 0.5 } }, /^jitterRatio: backoff\.jitter is set, too/],
    [{ lastEventId: '5', headers: { 'Last-Event-ID': '6' } }, /Last-Event-ID/],
    [{ lastEventId: '5', resume: { lastEventId: '6' } }, /^lastEventId: resume\.lastEventId is set, too/],
    [{ errorFilter: () => true, isRetryable: () => true }, /^errorFilter: isRetryable is set, too/],
    [{ errorFilter: () => true, disableRetry: true }, /^disableRetry: errorFilter is set, too/],
    [{ disableRetry: true, reconnectOnEnd: true }, /^disableRetry: reconnectOnEnd is set, too/],
    [{ https: { ca: 'x' }, tcp: { connect: { ca: 'y' } } }, /^https: tcp\.connect\.ca is set, too/],
    [
      { https: { rejectUnauthorized: true }, rejectUnauthorized: false },
      /^rejectUnauthorized: https is set, too/,
    ],
    [{ proxy: 'http://p.test', tcp: false }, /^proxy: tcp is set, too/],
  ])('%o', (init, message) => {
    expect(refusal(init)).toMatch(message)
  })
})
