import { describe, expect, test } from 'vitest'
import { SseError } from '../../src/errors.ts'
import type { ResilientSseOptions } from '../../src/options.ts'
import { block, broken, ended, networkError, open, status, URL_OF_EVENTS, World } from './world.ts'

const SECRET = 's3cret'

describe('each request', () => {
  test('asks for an event stream, uncached and uncompressed', async () => {
    const world = new World(() => open())
    world.stream().run()
    await world.settle()
    expect(Object.fromEntries(world.dials[0]?.headers ?? [])).toEqual({
      accept: 'text/event-stream',
      'cache-control': 'no-cache',
      'accept-encoding': 'identity',
    })
    expect(world.dials[0]).toMatchObject({ url: URL_OF_EVENTS, method: 'GET', body: undefined })
  })

  test('carries the user’s headers, which win over ours', async () => {
    const world = new World(() => open())
    world.stream({ headers: new Map([['Accept', 'application/json']]) as unknown as HeadersInit }).run()
    await world.settle()
    expect(world.dials[0]?.headers.get('accept')).toBe('application/json')
  })

  test('has URL, headers and body of the moment, and tells them which dial it is', async () => {
    const contexts: unknown[] = []
    const note = (what: string) => (context: { attempt: number; lastEventId: string | undefined }) => {
      contexts.push([what, context.attempt, context.lastEventId])
      return what === 'url' ? `${URL_OF_EVENTS}?n=${contexts.length}` : what === 'body' ? 'b' : { 'x-n': 'h' }
    }
    const world = new World([() => broken(block(1)), () => status(503), () => open()])
    const options = { method: 'POST', headers: note('headers'), body: note('body') } as ResilientSseOptions
    world.stream(options, note('url') as () => string).run()
    await world.pass(20_000)
    expect(contexts).toEqual([
      ['url', 1, undefined],
      ['headers', 1, undefined],
      ['body', 1, undefined],
      ['url', 1, '1'],
      ['headers', 1, '1'],
      ['body', 1, '1'],
      ['url', 2, '1'],
      ['headers', 2, '1'],
      ['body', 2, '1'],
    ])
  })

  test('repeats an id as UTF-8 octets, and skips one that no header can carry', async () => {
    const world = new World([
      () => broken(block('é€')),
      () => broken('id: bad\x01\ndata: x\n\n'),
      () => broken('id:\ndata: y\n\n'),
      () => open(),
    ])
    const consumer = world.stream().run()
    await world.pass(60_000)
    const octets = Buffer.from('é€').toString('latin1')
    expect(world.lastEventIds).toEqual([null, octets, octets, null])
    expect(consumer.stream.lastEventId).toBe('')
  })

  test('carries the id as a query parameter, too, when asked to', async () => {
    const world = new World([() => broken(block('a b&c')), () => open()])
    world.stream({ resume: { queryParameter: 'after' } }, `${URL_OF_EVENTS}?x=1`).run()
    await world.pass(5_000)
    expect(world.dials.map(({ url }) => url)).toEqual([
      `${URL_OF_EVENTS}?x=1`,
      `${URL_OF_EVENTS}?x=1&after=a+b%26c`,
    ])
  })

  test('has no Last-Event-ID when layer 3 is off', async () => {
    const world = new World([() => broken(block(1)), () => open()])
    world.stream({ resume: false }).run()
    await world.pass(5_000)
    expect(world.lastEventIds).toEqual([null, null])
  })

  test.each([
    ['a TypeError', () => (undefined as unknown as { token: string }).token],
    ['a rejection', () => Promise.reject(new Error(`no ${SECRET}`))],
    ['a bad value', () => ({ authorization: `a\n${SECRET}` })],
  ])(
    'that cannot be made because headers ends in %s is final, and its text has no value',
    async (_, headers) => {
      const world = new World(() => open())
      const consumer = world.stream({ headers: headers as () => HeadersInit }).run()
      await world.pass(60_000)
      expect(consumer.error).toMatchObject({ code: 'ERR_SSE_REQUEST', retryable: false })
      expect((consumer.error as Error).message).not.toContain(SECRET)
      expect(world.dials).toHaveLength(0)
    },
  )

  test('that url() gives no usable address is final', async () => {
    const world = new World(() => open())
    const consumer = world.stream({}, () => `//${SECRET}`).run()
    await world.pass(60_000)
    expect(consumer.error).toBeInstanceOf(SseError)
    expect((consumer.error as Error).message).not.toContain(SECRET)
    expect(world.dials).toHaveLength(0)
  })
})

describe('redirects', () => {
  test('are followed, and a reconnect starts from the original URL', async () => {
    const world = new World(({ nr, url }) => {
      if (url === URL_OF_EVENTS) return status(307, { location: `/moved?${nr}` })
      return nr === 2 ? broken(block(1)) : open()
    })
    const consumer = world.stream().run()
    await world.pass(5_000)
    expect(world.dials.map(({ url }) => url)).toEqual([
      URL_OF_EVENTS,
      'http://server.test/moved?1',
      URL_OF_EVENTS,
      'http://server.test/moved?3',
    ])
    expect(world.lastEventIds).toEqual([null, null, '1', '1'])
    expect(consumer.tellings('dial')).toHaveLength(2)
    expect(consumer.tellings('open')[0]).toMatchObject({ url: 'http://server.test/moved' })
  })

  test('off the user’s origin carry no user header, not even on the way back', async () => {
    const world = new World([
      () => status(302, { location: 'http://other.test/' }),
      () => status(302, { location: URL_OF_EVENTS }),
      () => open(),
    ])
    world.stream({ headers: { authorization: SECRET, 'x-key': SECRET } }).run()
    await world.settle()
    expect(world.dials.map(({ headers }) => headers.get('authorization'))).toEqual([SECRET, null, null])
    expect(world.dials.map(({ headers }) => headers.get('x-key'))).toEqual([SECRET, null, null])
    expect(world.dials.map(({ headers }) => headers.get('accept'))).toEqual(
      Array(3).fill('text/event-stream'),
    )
  })

  test('never take a body to another origin', async () => {
    const world = new World([() => status(307, { location: 'http://other.test/' }), () => open()])
    const consumer = world.stream({ method: 'POST', body: SECRET }).run()
    await world.pass(60_000)
    expect(world.dials).toHaveLength(1)
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_REDIRECT', status: 307, retryable: false })
  })

  test('are followed 20 times', async () => {
    const world = new World(({ nr }) => (nr <= 20 ? status(302, { location: `/${nr}` }) : open(block(1))))
    const consumer = world.stream().run()
    await world.settle()
    expect(consumer.data).toEqual(['data 1'])
  })
})

describe('POST', () => {
  const post = { method: 'POST', body: '{}' } as const

  test('is not sent again once the server may have it', async () => {
    const world = new World(() => broken(block(1)))
    const consumer = world.stream(post).run()
    await world.pass(60_000)
    expect(world.dials).toHaveLength(1)
    expect(consumer.error).toMatchObject({
      code: 'ERR_SSE_NOT_RESENT',
      retryable: false,
      cause: { code: 'ERR_SSE_NETWORK' },
    })
    expect(consumer.data).toEqual(['data 1'])
  })

  test('is not sent again after a 503: a custom fetch cannot tell whether it was received', async () => {
    const world = new World(() => status(503))
    const consumer = world.stream(post).run()
    await world.pass(60_000)
    expect(world.dials).toHaveLength(1)
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_NOT_RESENT', cause: { status: 503 } })
  })

  test('is dialled again as long as it was never written', async () => {
    let failures = 2
    const world = new World(() => open(block(1)))
    const headers = () => (failures-- > 0 ? Promise.reject(networkError('ECONNREFUSED')) : { 'x-a': '1' })
    const consumer = world.stream({ ...post, headers }).run()
    await world.pass(10_000)
    expect(consumer.data).toEqual(['data 1'])
    expect(world.dials).toHaveLength(1)
    expect(consumer.tellings('drop')).toHaveLength(2)
  })

  test('ends the loop with its clean end', async () => {
    const world = new World(() => ended(block(1)))
    const consumer = world.stream(post).run()
    await world.pass(60_000)
    expect([consumer.over, consumer.error, world.dials.length]).toEqual([true, undefined, 1])
  })

  test('with body as a function is sent again, with a body made for it', async () => {
    const world = new World([() => broken(block(1)), () => ended(block(2)), () => open()])
    let made = 0
    const consumer = world.stream({ method: 'POST', body: () => `body ${++made}` }).run()
    await world.pass(10_000)
    expect(world.dials.map(({ body }) => body)).toEqual(['body 1', 'body 2', 'body 3'])
    expect(consumer.data).toEqual(['data 1', 'data 2'])
  })

  test('cannot be reconnected by hand, except with body as a function', async () => {
    const world = new World(() => open())
    const consumer = world.stream(post).run()
    await world.settle()
    expect(() => consumer.stream.reconnect()).toThrow(expect.objectContaining({ code: 'ERR_SSE_NOT_RESENT' }))
    expect(consumer.stream.state).toBe('open')
  })
})
