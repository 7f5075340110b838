import { MockAgent, Headers as UndiciHeaders } from 'undici'
import { describe, expect, test } from 'vitest'
import { Agent, ProxyAgent } from '../src/index.ts'
import { ResilientSse } from '../src/resilient-sse.ts'
import { refusal, resolve, SECRET, URL_OF_EVENTS } from './resolve.ts'

describe('the URL', () => {
  test.each([
    ['relative', '/events', 'url: not an absolute URL'],
    ['empty', '', 'url: not an absolute URL'],
    ['undefined', undefined, 'url: not an absolute URL'],
    ['a number', 5, 'url: not an absolute URL'],
    ['ws:', 'ws://h/', 'url: ws: is not http: or https:'],
    ['file:', 'file:///etc/passwd', 'url: file: is not http: or https:'],
    ['data:', 'data:text/event-stream,x', 'url: data: is not http: or https:'],
  ])('is refused when it is %s', (_, url, message) => {
    expect(refusal(undefined, url ?? null)).toBe(message)
  })

  test('is refused with credentials, in words that say what to use and do not repeat them', () => {
    for (const url of [
      `https://user:${SECRET}@h/`,
      `https://${SECRET}@h/`,
      new URL(`https://:${SECRET}@h/`),
    ]) {
      const message = refusal(undefined, url)
      expect(message).toContain('send them as headers: { authorization }')
      expect(message).not.toContain(SECRET)
    }
  })

  test('is never repeated in a refusal, for its query may be a secret', () => {
    expect(refusal(undefined, `events?token=${SECRET}`)).not.toContain(SECRET)
    expect(refusal(undefined, `ftp://h/?token=${SECRET}`)).not.toContain(SECRET)
  })

  test('may be a URL object or a function, which is not called yet', () => {
    expect(() => resolve(undefined, new URL(URL_OF_EVENTS))).not.toThrow()
    const never = () => {
      throw new Error('called')
    }
    expect(() => resolve(undefined, never)).not.toThrow()
  })
})

describe('headers', () => {
  test.each([
    ['an object', { 'x-a': '1' }],
    ['pairs', [['x-a', '1']]],
    ['Headers', new Headers({ 'x-a': '1' })],
    ['the Headers of undici', new UndiciHeaders({ 'x-a': '1' })],
    ['a Map', new Map([['x-a', '1']])],
    ['a function', () => ({ 'x-a': '1' })],
    ['an object with an undefined value', { 'x-a': undefined }],
  ])('may be %s', (_, headers) => {
    expect(() => resolve({ headers })).not.toThrow()
  })

  test.each([[5], ['x-a: 1'], [true], [['x-a']], [['x-a', '1']], [[5]]])('cannot be %j', headers => {
    expect(refusal({ headers })).toMatch(/^headers: neither an object nor Headers nor a list of pairs$/)
  })

  test.each([
    ['a line feed in a value', { 'x-a': `a\n${SECRET}` }],
    ['NUL in a value', { 'x-a': `${SECRET}\0` }],
    ['a character beyond Latin-1 in a value', { 'x-a': `${SECRET}€` }],
    ['a space in a name', { 'x a': SECRET }],
    ['an empty name', { '': SECRET }],
  ])('are refused with %s, by name and without the value', (_, headers) => {
    const message = refusal({ headers })
    expect(message).toMatch(/^headers: ".*" has a name or value that HTTP does not allow$/)
    expect(message).not.toContain(SECRET)
  })

  test.each([
    [{ 'last-event-id': '5' }],
    [{ 'Last-Event-ID': '5' }],
    [[['LAST-EVENT-ID', '5']]],
    [new UndiciHeaders({ 'last-event-id': '5' })],
  ])('cannot hold a Last-Event-ID, which would stop the cursor: %s', headers => {
    expect(refusal({ headers })).toContain('use resume.lastEventId')
  })

  test('may hold a Last-Event-ID when layer 3 is off', () => {
    expect(() => resolve({ headers: { 'last-event-id': '5' }, resume: false })).not.toThrow()
  })
})

describe('method and body', () => {
  test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'REPORT', 'QUERY', 'get'])(
    '%s may be repeated',
    method => {
      expect(resolve({ method }).repeatable).toBe(true)
    },
  )

  test.each(['POST', 'PATCH', 'post', 'CUSTOM'])('%s is repeated only with body as a function', method => {
    expect(resolve({ method }).repeatable).toBe(false)
    expect(resolve({ method, body: 'x' }).repeatable).toBe(false)
    expect(resolve({ method, body: () => 'x' }).repeatable).toBe(true)
  })

  test('the method is sent in capitals', () => {
    expect(resolve({ method: 'post' }).method).toBe('POST')
  })

  test.each([
    [''],
    ['GE T'],
    ['GET\r\n'],
    [5],
    [null],
    [[]],
    [() => 'GET'],
    ['CONNECT'],
    ['trace'],
    ['TRACK'],
  ])('the method %j is refused', method => {
    expect(refusal({ method })).toMatch(/^method: /)
  })

  test.each(['GET', 'HEAD'])('%s takes no body, and the refusal says what to set', method => {
    for (const body of ['x', () => 'x', new Uint8Array(1)]) {
      expect(refusal({ method, body })).toBe(`body: ${method} has none; set method`)
    }
    expect(() => resolve({ method, body: null })).not.toThrow()
  })

  test.each([
    ['x'],
    [''],
    [new Uint8Array([1])],
    [new ArrayBuffer(1)],
    [new Blob(['x'])],
    [new FormData()],
    [new URLSearchParams('a=b')],
    [null],
  ])('a body may be %s', body => {
    expect(() => resolve({ method: 'POST', body })).not.toThrow()
  })

  test.each([[{ json: 1 }], [[1]], [5], [true], [5n]])('a body cannot be %s', body => {
    expect(refusal({ method: 'POST', body })).toMatch(/^body: .* is not a string, bytes, a Blob/)
  })

  test('a body that is a stream could be sent once only', () => {
    expect(refusal({ method: 'POST', body: new ReadableStream() })).toContain('give a function')
  })
})

describe('connections', () => {
  const fetch = async () => new Response()

  test('tcp beside fetch or dispatcher could not take effect', () => {
    expect(refusal({ tcp: {}, fetch })).toBe(
      'tcp: cannot take effect beside fetch, which makes its own connections',
    )
    expect(refusal({ tcp: { noDelay: false }, dispatcher: new Agent() })).toContain('beside dispatcher')
    expect(() => resolve({ tcp: false, fetch })).not.toThrow()
    expect(() => resolve({ fetch })).not.toThrow()
  })

  test('dispatcher beside fetch could not take effect', () => {
    expect(refusal({ dispatcher: new Agent(), fetch })).toContain(
      'dispatcher: cannot take effect beside fetch',
    )
  })

  test('a dispatcher is one of undici 7', () => {
    expect(() => resolve({ dispatcher: new Agent() })).not.toThrow()
    expect(() => resolve({ dispatcher: new ProxyAgent('http://127.0.0.1:9') })).not.toThrow()
    expect(() => resolve({ dispatcher: new MockAgent() })).not.toThrow()
    // undici 8 has the same shape and another class.
    for (const dispatcher of [{ dispatch() {} }, null, 'http://proxy', 5]) {
      expect(refusal({ dispatcher })).toContain('dispatcher: not a dispatcher of undici 7')
    }
  })

  test('a proxy is a URL or env, and its credentials are not repeated', () => {
    expect(() => resolve({ tcp: { proxy: 'env' } })).not.toThrow()
    expect(() => resolve({ tcp: { proxy: new URL('http://127.0.0.1:8080') } })).not.toThrow()
    for (const proxy of ['127.0.0.1', 5, null, '', `//u:${SECRET}@h`, 'ftp://127.0.0.1']) {
      const message = refusal({ tcp: { proxy } })
      expect(message).toMatch(/^tcp\.proxy: /)
      expect(message).not.toContain(SECRET)
    }
  })

  test('tcp.connect is an object', () => {
    expect(() => resolve({ tcp: { connect: { family: 4 } } })).not.toThrow()
    for (const connect of [null, 5, 'x', [], () => {}]) {
      expect(refusal({ tcp: { connect } })).toMatch(/^tcp\.connect: .* is not an object$/)
    }
  })

  test('a signal is an AbortSignal', () => {
    expect(() => resolve({ signal: AbortSignal.timeout(1_000) })).not.toThrow()
    for (const signal of [null, new AbortController(), {}, 5]) {
      expect(refusal({ signal })).toMatch(/^signal: .* is not an AbortSignal$/)
    }
  })
})

test('a connection that may not be made again cannot be rotated', () => {
  const rotating = (body: string | (() => string)) =>
    new ResilientSse('http://127.0.0.1/', { method: 'POST', body, maxConnectionMs: 60_000 })
  expect(() => rotating('{}')).toThrow(/^maxConnectionMs: .*POST.*body as a function/)
  expect(() => rotating(() => '{}')).not.toThrow()
})
