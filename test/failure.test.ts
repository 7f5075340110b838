import { describe, expect, test } from 'vitest'
import { SseError } from '../src/errors.ts'
import { dialFailure, functionFailure, readFailure } from '../src/outcome.ts'
import { fetchFailed } from './verdict.ts'

describe('a failure before the headers', () => {
  test.each([
    'ENOTFOUND',
    'EAI_AGAIN',
    'EAI_FAIL',
    'ECONNREFUSED',
    'ECONNRESET',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'EHOSTDOWN',
    'ENETUNREACH',
    'ENETDOWN',
    'ENETRESET',
    'EADDRNOTAVAIL',
    'EADDRINUSE',
    'EPROTO',
    'ENOENT',
    'EMFILE',
    'ENFILE',
    'ENOBUFS',
    'UND_ERR_SOCKET',
    'UND_ERR_ABORTED',
    'UND_ERR_CONNECT_TIMEOUT',
    'UND_ERR_HEADERS_TIMEOUT',
    'UND_ERR_BODY_TIMEOUT',
    'UND_ERR_HEADERS_OVERFLOW',
    'UND_ERR_INFO',
    'HPE_INVALID_CONSTANT',
    'HPE_INVALID_EOF_STATE',
    'HPE_CB_MESSAGE_COMPLETE',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_TLS_HANDSHAKE_TIMEOUT',
    'ERR_HTTP2_GOAWAY_SESSION',
    'ERR_HTTP2_STREAM_ERROR',
  ])('with %s is the network, and dialled again', code => {
    for (const everOpened of [false, true]) {
      expect(dialFailure(fetchFailed(code), 'host', false, everOpened)).toMatchObject({
        code: 'ERR_SSE_NETWORK',
        retryable: true,
        message: /^ERR_(SSL|TLS)_/.test(code)
          ? `TLS with host (${code}) failed`
          : `No connection to host (${code})`,
      })
    }
  })

  test('is told as no answer when the request had left, unless it never came to a connection', () => {
    const text = (code: string) => dialFailure(fetchFailed(code), 'host', false, false, true).message
    expect(text('UND_ERR_SOCKET')).toBe('host (UND_ERR_SOCKET) gave no answer to the request')
    expect(text('ECONNREFUSED')).toBe('No connection to host (ECONNREFUSED)')
  })

  test('of a function of the user’s names the function, and is ours where the function threw one of ours', () => {
    const cause = new Error('s3cret')
    expect(functionFailure('headers', cause)).toMatchObject({
      code: 'ERR_SSE_REQUEST',
      retryable: false,
      message: 'The headers function threw',
      cause,
    })
    const ours = new SseError('ERR_SSE_REQUEST', 'x', { retryable: true })
    expect(functionFailure('headers', ours)).toBe(ours)
    expect(functionFailure('url', fetchFailed('ECONNREFUSED'))).toMatchObject({
      code: 'ERR_SSE_NETWORK',
      retryable: true,
      message: 'The url function failed (ECONNREFUSED)',
    })
  })

  test.each([
    'CERT_HAS_EXPIRED',
    'CERT_NOT_YET_VALID',
    'CERT_REVOKED',
    'CERT_UNTRUSTED',
    'CERT_SIGNATURE_FAILURE',
    'CERT_CHAIN_TOO_LONG',
    'CERT_REJECTED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_TLS_CERT_ALTNAME_FORMAT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
    'HOSTNAME_MISMATCH',
    'INVALID_CA',
    'INVALID_PURPOSE',
    'PATH_LENGTH_EXCEEDED',
    'CRL_HAS_EXPIRED',
    'ERROR_IN_CERT_NOT_AFTER_FIELD',
  ])('with %s is the certificate: final before the first open, dialled again after it', code => {
    const [before, after] = [false, true].map(everOpened =>
      dialFailure(fetchFailed(code), 'host', false, everOpened),
    )
    expect(before).toMatchObject({ code: 'ERR_SSE_CERTIFICATE', retryable: false })
    expect(after).toMatchObject({ code: 'ERR_SSE_CERTIFICATE', retryable: true })
    expect(before?.message).toBe(`The certificate of host (${code}) was refused`)
  })

  test.each([
    'UND_ERR_INVALID_ARG',
    'UND_ERR_CLOSED',
    'UND_ERR_DESTROYED',
    'UND_ERR_NOT_SUPPORTED',
    'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
    'ERR_INVALID_CHAR',
    'ERR_INVALID_ARG_TYPE',
    'ERR_INVALID_URL',
    'EXCELLENT',
    'NO_ECONNRESET',
    'NO_CERT_HAS_EXPIRED',
    undefined,
  ])('with %s has no network cause, and is final', code => {
    for (const everOpened of [false, true]) {
      expect(dialFailure(fetchFailed(code), 'host', false, everOpened)).toMatchObject({
        code: 'ERR_SSE_REQUEST',
        retryable: false,
        message: `The request to ${code === undefined ? 'host' : `host (${code})`} could not be made`,
      })
    }
  })

  test('is classified by its code, not by words that its message uses', () => {
    const error = new TypeError('fetch failed: ECONNRESET certificate has expired')
    expect(dialFailure(error, 'host', false, false).code).toBe('ERR_SSE_REQUEST')
  })

  test('is found up to eight causes deep, and not looked for without end', () => {
    let error: Error = Object.assign(new Error('x'), { code: 'ECONNRESET' })
    for (let depth = 2; depth <= 8; depth++) error = new Error('wrapped', { cause: error })
    expect(dialFailure(error, 'host', false, false).code).toBe('ERR_SSE_NETWORK')
    const deeper = new Error('wrapped', { cause: error })
    expect(dialFailure(deeper, 'host', false, false).code).toBe('ERR_SSE_REQUEST')
    const loop = new Error('loop')
    loop.cause = loop
    expect(dialFailure(loop, 'host', false, false).code).toBe('ERR_SSE_REQUEST')
  })

  test('of several addresses at once is the failure of the first', () => {
    const attempts = ['ECONNREFUSED', 'ENETUNREACH'].map(code => Object.assign(new Error(code), { code }))
    const error = new TypeError('fetch failed', { cause: new AggregateError(attempts) })
    expect(dialFailure(error, 'host', false, false).message).toBe('No connection to host (ECONNREFUSED)')
  })

  test('of a broken HTTP head, which has a parser error without a code, is the network', () => {
    const cause = new Error('Response does not match the HTTP/1.1 protocol')
    cause.name = 'HTTPParserError'
    const error = new TypeError('fetch failed', { cause })
    expect(dialFailure(error, 'host', false, false)).toMatchObject({
      code: 'ERR_SSE_NETWORK',
      retryable: true,
    })
  })

  test('of another fetch may be a bare TypeError or a timeout, which is how browsers and mocks say network', () => {
    const timeout = new DOMException('x', 'TimeoutError')
    for (const error of [new TypeError('Failed to fetch'), timeout, new DOMException('x', 'AbortError')]) {
      expect(dialFailure(error, 'host', true, false)).toMatchObject({
        code: 'ERR_SSE_NETWORK',
        message: 'No connection to host',
      })
      expect(dialFailure(error, 'host', false, false)).toMatchObject({ code: 'ERR_SSE_REQUEST' })
    }
    for (const name of ['RangeError', 'NotAnAbortError', 'TimeoutErrorOfMine']) {
      const bug = Object.assign(new Error('bug'), { name })
      expect(dialFailure(bug, 'host', true, false).code).toBe('ERR_SSE_REQUEST')
    }
  })

  test.each([['a string'], [undefined], [null], [42], [{ code: 'ECONNRESET' }]])(
    'may be thrown as %j, which is no error, and is final',
    thrown => {
      const failure = dialFailure(thrown, 'host', false, false)
      expect(failure).toMatchObject({ code: 'ERR_SSE_REQUEST', retryable: false, cause: thrown })
    },
  )

  test('that is an error of ours stays what it is', () => {
    const error = new SseError('ERR_SSE_OPEN_TIMEOUT', 'x', { retryable: true })
    expect(dialFailure(error, 'host', false, false)).toBe(error)
  })

  test('keeps its cause', () => {
    const cause = fetchFailed('EPIPE')
    expect(dialFailure(cause, 'host', false, false).cause).toBe(cause)
  })
})

describe('a failure after the headers', () => {
  test.each([
    [fetchFailed('ECONNRESET'), 'The connection broke (ECONNRESET)'],
    [
      new TypeError('terminated', { cause: fetchFailed('UND_ERR_SOCKET').cause }),
      'The connection broke (UND_ERR_SOCKET)',
    ],
    [new Error('HTTPParserError'), 'The connection broke'],
    [
      Object.assign(new Error('x'), { name: 'HTTPParserError' }),
      'The connection was closed in the middle of the response',
    ],
    [fetchFailed('CERT_HAS_EXPIRED'), 'The connection broke (CERT_HAS_EXPIRED)'],
    ['thrown text', 'The connection broke'],
    [undefined, 'The connection broke'],
  ])('is the network, whatever it is called: %s', (error, message) => {
    expect(readFailure(error)).toMatchObject({ code: 'ERR_SSE_NETWORK', retryable: true, message })
  })

  test('that is an error of ours stays what it is', () => {
    const error = new SseError('ERR_SSE_EVENT_TOO_LARGE', 'x')
    expect(readFailure(error)).toBe(error)
  })
})
