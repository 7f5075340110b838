import { describe, expect, test, vi } from 'vitest'
import { SseError, type SseHttpError } from '../../src/errors.ts'
import { block, broken, ended, networkError, open, status, World } from './world.ts'

const SECRET = 's3cret'

describe('the outcome table', () => {
  const html = () => new Response('<html>', { headers: { 'content-type': 'text/html' } })
  const redirect = (location?: string) => () => status(302, location === undefined ? {} : { location })
  const unreachable = () => Promise.reject(networkError('ECONNREFUSED'))
  const expired = () => Promise.reject(networkError('CERT_HAS_EXPIRED'))
  const impossible = () => Promise.reject(networkError('ERR_INVALID_CHAR'))

  test.each([
    ['another content type', html, 'ERR_SSE_CONTENT_TYPE'],
    ['201', () => status(201), 'ERR_SSE_HTTP'],
    ['a redirect without Location', redirect(), 'ERR_SSE_REDIRECT'],
    ['a redirect to nowhere', redirect('http://'), 'ERR_SSE_REDIRECT'],
    ['a redirect with an empty Location', redirect(''), 'ERR_SSE_REDIRECT'],
    ['a redirect to another protocol', redirect('file:///etc/passwd'), 'ERR_SSE_REDIRECT'],
    ['a redirect loop', redirect('/events'), 'ERR_SSE_REDIRECT'],
    ['304', () => status(304), 'ERR_SSE_HTTP'],
    ['401', () => status(401), 'ERR_SSE_HTTP'],
    ['404', () => status(404), 'ERR_SSE_HTTP'],
    ['501', () => status(501), 'ERR_SSE_HTTP'],
    ['a refused certificate', expired, 'ERR_SSE_CERTIFICATE'],
    ['a request that cannot be made', impossible, 'ERR_SSE_REQUEST'],
  ] as const)('%s is final before the first open', async (_, answer, code) => {
    const world = new World(answer)
    const consumer = world.stream().run()
    await world.pass(60_000)
    expect(consumer.error).toBeInstanceOf(SseError)
    expect(consumer.error).toMatchObject({ code, retryable: false })
    expect(consumer.stream.state).toBe('closed')
    expect(world.dials).toHaveLength(code === 'ERR_SSE_REDIRECT' && world.dials.length > 1 ? 21 : 1)
    expect(consumer.tellings('close')).toMatchObject([{ reason: 'error', error: consumer.error }])
  })

  test.each([
    ['another content type', html, 'ERR_SSE_CONTENT_TYPE', 'retry'],
    ['201', () => status(201), 'ERR_SSE_HTTP', 'final'],
    ['a redirect without Location', redirect(), 'ERR_SSE_REDIRECT', 'final'],
    ['401', () => status(401), 'ERR_SSE_HTTP', 'final'],
    ['404', () => status(404), 'ERR_SSE_HTTP', 'final'],
    ['503', () => status(503), 'ERR_SSE_HTTP', 'retry'],
    ['a refused connection', unreachable, 'ERR_SSE_NETWORK', 'retry'],
    ['a refused certificate', expired, 'ERR_SSE_CERTIFICATE', 'retry'],
    ['a request that cannot be made', impossible, 'ERR_SSE_REQUEST', 'final'],
  ] as const)('after the first open, %s is %3$s', async (_, answer, code, verdict) => {
    const world = new World([() => broken(block(1)), answer, () => open(block(2))])
    const consumer = world.stream().run()
    await world.pass(60_000)
    expect(consumer.tellings('drop')[1]?.error).toMatchObject({ code })
    if (verdict === 'retry') expect([consumer.data, consumer.over]).toEqual([['data 1', 'data 2'], false])
    else expect(consumer.error).toMatchObject({ code, retryable: false })
    expect(world.dials).toHaveLength(verdict === 'retry' ? 3 : 2)
  })

  test.each([408, 425, 429, 500, 502, 503, 504])('%d is dialled again before the first open', async code => {
    const world = new World([() => status(code), () => open(block(1))])
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(consumer.data).toEqual(['data 1'])
    expect(world.dials).toHaveLength(2)
  })

  test.each([
    ['before', [() => status(204)]],
    ['after', [() => broken(block(1)), () => status(204)]],
  ])('204 ends the loop without an error, %s the first open', async (_, answers) => {
    const world = new World(answers)
    const consumer = world.stream({ isRetryable: () => true }).run()
    await world.pass(60_000)
    expect([consumer.over, consumer.error]).toEqual([true, undefined])
    expect(world.dials).toHaveLength(answers.length)
    expect(consumer.tellings('close')).toMatchObject([{ reason: 'end' }])
  })

  test.each([
    ['a reset', () => broken(block(1)), 'ERR_SSE_NETWORK'],
    ['a certificate code after the headers', () => broken(block(1), 'CERT_HAS_EXPIRED'), 'ERR_SSE_NETWORK'],
    ['a clean end', () => ended(block(1)), 'ERR_SSE_END'],
  ])('%s after the headers is dialled again, with the last id', async (_, answer, code) => {
    const world = new World([answer, () => open(block(2))])
    const consumer = world.stream().run()
    await world.pass(10_000)
    expect(consumer.tellings('drop')[0]).toMatchObject({ opened: true, events: 1, error: { code } })
    expect(consumer.data).toEqual(['data 1', 'data 2'])
    expect(world.lastEventIds).toEqual([null, '1'])
  })

  test('a body that shows no framing ends uncleanly: its end may be a reset', async () => {
    const headers = { 'content-type': 'text/event-stream', connection: 'close' }
    const world = new World([() => new Response(block(1), { headers }), () => open()])
    const consumer = world.stream({ reconnectOnEnd: false }).run()
    await world.pass(10_000)
    expect(consumer.tellings('drop')[0]).toMatchObject({
      reason: 'network',
      error: { code: 'ERR_SSE_NETWORK' },
    })
    expect(world.dials).toHaveLength(2)
  })
})

describe('isRetryable', () => {
  test('has the last word: a 404 may be dialled again, a 503 may be final', async () => {
    const world = new World([() => status(404), () => status(503)])
    const isRetryable = vi.fn((error: SseError) => (error as SseHttpError).status === 404)
    const consumer = world.stream({ isRetryable }).run()
    await world.pass(10_000)
    expect(consumer.error).toMatchObject({ status: 503, retryable: false })
    expect(world.dials).toHaveLength(2)
    expect(isRetryable.mock.calls.map(([, context]: unknown[]) => context)).toEqual([
      { failures: 1, everOpened: false },
      { failures: 2, everOpened: false },
    ])
  })

  test('leaves the table alone with undefined', async () => {
    const world = new World([() => status(503), () => status(404)])
    const consumer = world.stream({ isRetryable: () => undefined }).run()
    await world.pass(10_000)
    expect(consumer.error).toMatchObject({ status: 404 })
  })

  test.each([[Object.freeze(new Error('mine'))], ['mine'], [undefined]])(
    'that throws ends the stream with what it threw, as it was: %s',
    async mine => {
      const world = new World(() => status(503))
      const isRetryable = () => {
        throw mine
      }
      const consumer = world.stream({ isRetryable }).run()
      await world.pass(10_000)
      expect([consumer.over, consumer.error]).toEqual([true, mine])
    },
  )
})

describe('401', () => {
  test('is answered by one more dial, at once, when headers is a function', async () => {
    let token = 'old'
    const world = new World(dial =>
      dial.headers.get('authorization') === 'Bearer new' ? open(block(1)) : status(401),
    )
    const headers = () => {
      const headers = { authorization: `Bearer ${token}` }
      token = 'new'
      return headers
    }
    const consumer = world.stream({ headers }).run()
    await world.pass(100)
    expect(consumer.data).toEqual(['data 1'])
    expect(world.dials.map(({ at }) => at)).toEqual([0, 0])
  })

  test('is final the second time, before the first open', async () => {
    const world = new World(() => status(401))
    const consumer = world.stream({ headers: async () => ({ authorization: SECRET }) }).run()
    await world.pass(60_000)
    expect(world.dials).toHaveLength(2)
    expect(consumer.error).toMatchObject({ status: 401, code: 'ERR_SSE_HTTP' })
    expect((consumer.error as Error).message).not.toContain(SECRET)
  })

  test('is answered so once per successful open', async () => {
    const world = new World([
      () => broken(block(1)),
      () => status(401),
      () => broken(block(2)),
      () => status(401),
      () => status(401),
    ])
    const consumer = world.stream({ headers: () => ({}) }).run()
    await world.pass(60_000)
    expect(world.dials).toHaveLength(5)
    expect(consumer.error).toMatchObject({ status: 401 })
  })

  test('is final at once with headers that cannot change', async () => {
    const world = new World(() => status(401))
    const consumer = world.stream({ headers: { authorization: 'x' } }).run()
    await world.pass(60_000)
    expect(world.dials).toHaveLength(1)
    expect(consumer.error).toMatchObject({ status: 401 })
  })
})
