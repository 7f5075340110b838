import { describe, expect, test, vi } from 'vitest'
import { SseError, type SseHttpError } from '../../src/errors.ts'
import type { ResilientSseOptions } from '../../src/options.ts'
import { Body, block, broken, ended, networkError, open, status, URL_OF_EVENTS, World } from './world.ts'

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

  test('that throws ends the stream with what it threw', async () => {
    const world = new World(() => status(503))
    const mine = new Error('mine')
    const isRetryable = () => {
      throw mine
    }
    const consumer = world.stream({ isRetryable }).run()
    await world.pass(10_000)
    expect(consumer.error).toBe(mine)
  })
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

describe('openTimeoutMs', () => {
  const never = () => new Promise<Response>(() => {})

  test('is 30 s, doubles to 5 min once the request was sent, and does not count for the breaker', async () => {
    const world = new World(never)
    const consumer = world.stream().run()
    await world.pass(3_600_000)
    expect(consumer.over).toBe(false)
    expect(consumer.tellings('circuit')).toEqual([])
    const waits = consumer.tellings('wait').map(({ delayMs }) => delayMs)
    const limits = world.gaps.map((gap, index) => gap - (waits[index] as number))
    expect(limits.slice(0, 7).map(ms => Math.round(ms / 1_000))).toEqual([30, 60, 120, 240, 300, 300, 300])
    expect(consumer.tellings('drop')[0]?.error).toMatchObject({
      code: 'ERR_SSE_OPEN_TIMEOUT',
      retryable: true,
    })
  })

  test('covers url and headers functions, and then counts for the breaker', async () => {
    const world = new World(() => open())
    const consumer = world.stream({ openTimeoutMs: 1_000, headers: () => new Promise(() => {}) }).run()
    await world.pass(60_000)
    expect(world.dials).toHaveLength(0)
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_CIRCUIT_OPEN' })
    expect(consumer.tellings('drop').map(({ error }) => error.code)).toEqual(
      Array(6).fill('ERR_SSE_OPEN_TIMEOUT'),
    )
  })

  test('gives the request up', async () => {
    const world = new World(never)
    world.stream({ openTimeoutMs: 500 }).run()
    await world.pass(499)
    expect(world.dials[0]?.signal.aborted).toBe(false)
    await world.pass(2)
    expect(world.dials[0]?.signal.aborted).toBe(true)
  })
})

describe('maxConnectionMs', () => {
  test('rotates at 90 to 100 % of it, resumes, and counts no failure', async () => {
    const world = new World(dial => open(block(dial.nr)))
    const consumer = world.stream({ maxConnectionMs: 60_000 }).run()
    await world.pass(20 * 60_000)
    expect(world.dials.length).toBeGreaterThan(18)
    for (const gap of world.gaps) {
      expect(gap).toBeGreaterThanOrEqual(54_000)
      expect(gap).toBeLessThanOrEqual(60_050)
    }
    expect(Math.max(...world.gaps) - Math.min(...world.gaps)).toBeGreaterThan(2_000)
    expect(consumer.tellings('wait')).toEqual([])
    expect(consumer.tellings('drop')[0]).toMatchObject({
      reason: 'rotate',
      error: { code: 'ERR_SSE_ROTATED' },
    })
    expect(world.lastEventIds.slice(0, 3)).toEqual([null, '1', '2'])
    expect(consumer.stream.stats().backoff.failures).toBe(0)
  })
})

describe('heartbeat', () => {
  test('a silent stream is dead after 120 s, and is dialled again with its id', async () => {
    const world = new World([() => open(block(1)), () => open(block(2))])
    const consumer = world.stream().run()
    await world.pass(119_000)
    expect(world.dials).toHaveLength(1)
    await world.pass(3_000)
    expect(consumer.data).toEqual(['data 1', 'data 2'])
    expect(world.lastEventIds).toEqual([null, '1'])
    expect(consumer.tellings('stall')).toMatchObject([{ phase: 'dead' }])
    expect(consumer.tellings('drop')[0]).toMatchObject({ reason: 'silence' })
  })

  test('a server that comments only when idle is not taken for a slow one after busy times', async () => {
    const body = new Body().send(': hb\n\n')
    const world = new World(() => body.response())
    const consumer = world.stream().run()
    for (let minute = 1; minute <= 10; minute++) {
      await world.pass(60_000)
      body.send(block(minute))
    }
    await world.pass(10)
    body.send(': hb\n\n')
    await world.settle()
    expect(consumer.stream.stats().heartbeat.timeoutMs).toBe(120_000)
    expect(world.dials).toHaveLength(1)
  })

  test('the gap between the comments of two connections is none', async () => {
    const comments = ': hb\n\n'
    const world = new World([() => broken(comments), () => open(comments)])
    const consumer = world.stream({ backoff: { baseMs: 200_000, maxMs: 200_000, jitter: 0 } }).run()
    await world.pass(250_000)
    expect(consumer.stream.stats().heartbeat).toMatchObject({ comments: 2, timeoutMs: 120_000 })
  })

  test('a consumer that works for ten minutes on one event kills nothing', async () => {
    const body = new Body().send(block(1))
    const world = new World(() => body.response())
    const consumer = world
      .stream({ heartbeat: { timeoutMs: 1_000 } })
      .run(() => new Promise(resolve => setTimeout(resolve, 600_000)))
    await world.pass(600_500)
    expect(consumer.tellings('stall')).toEqual([])
    expect(world.dials).toHaveLength(1)
    await world.pass(2_000)
    expect(consumer.tellings('stall')).toMatchObject([{ phase: 'dead' }])
  })

  test('a death brings back the failures that age alone had forgiven', async () => {
    // Lives long enough to be forgiven for its bytes, then goes silent: five times over.
    const world = new World(() => {
      const body = new Body()
      setTimeout(() => body.send(': alive\n\n'), 11_000)
      return body.response()
    })
    const consumer = world.stream({ heartbeat: { timeoutMs: 20_000 } }).run()
    await world.pass(150_000)
    expect(consumer.tellings('wait').map(({ failures }) => failures)).toEqual([1, 2, 3, 4])
  })

  test('switched off, silence is never noticed', async () => {
    const world = new World(() => open(block(1)))
    const consumer = world.stream({ heartbeat: false }).run()
    await world.pass(3_600_000)
    expect(consumer.tellings('drop')).toEqual([])
  })
})

describe('proof of health', () => {
  test('bytes that come ten seconds after the open reset the count, sooner they do not', async () => {
    for (const [after, failures] of [
      [9_000, 4],
      [10_500, 1],
    ] as const) {
      const world = new World(({ nr }) => {
        if (nr <= 3) return status(503)
        const body = new Body()
        setTimeout(() => body.send(': bytes\n\n'), after)
        setTimeout(() => body.break(), after + 100)
        return body.response()
      })
      const consumer = world.stream().run()
      await world.pass(11_000 + after)
      const drop = consumer.tellings('drop')[3]
      expect(drop).toMatchObject({ opened: true })
      const wait = consumer.tellings('wait')[3]
      expect(wait).toMatchObject({ failures })
      await consumer.stream.close()
    }
  })

  test('an event with a new id resets it at once, a 200 and a priming event do not', async () => {
    const failures = async (text: string) => {
      const world = new World([() => status(503), () => status(503), () => broken(text), () => open()])
      const consumer = world.stream().run()
      await world.pass(20_000)
      await consumer.stream.close()
      return consumer.tellings('wait')[2]?.failures
    }
    expect(await failures(block(1))).toBe(1)
    expect(await failures('')).toBe(3)
    expect(await failures(': hello\n\n')).toBe(3)
    expect(await failures('id: 7\ndata:\n\n')).toBe(3)
    expect(await failures('id: 7\n\n')).toBe(3)
    expect(await failures('data: hello\n\n')).toBe(3)
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

describe('reconnectOnEnd: false', () => {
  test('lets a clean end end the loop', async () => {
    const world = new World(() => ended(block(1)))
    const consumer = world.stream({ reconnectOnEnd: false }).run()
    await world.pass(60_000)
    expect([consumer.data, consumer.over, consumer.error]).toEqual([['data 1'], true, undefined])
    expect(world.dials).toHaveLength(1)
  })

  test('dials again after a break all the same', async () => {
    const world = new World([() => broken(block(1)), () => ended(block(2))])
    const consumer = world.stream({ reconnectOnEnd: false }).run()
    await world.pass(60_000)
    expect([consumer.data, consumer.over]).toEqual([['data 1', 'data 2'], true])
  })
})

describe('reconnect()', () => {
  test('gives up the connection and resumes at once', async () => {
    const world = new World([() => open(block(1)), () => open(block(2))])
    const consumer = world.stream().run()
    await world.settle()
    consumer.stream.reconnect()
    await world.settle()
    expect(consumer.data).toEqual(['data 1', 'data 2'])
    expect(world.dials.map(({ at }) => at)).toEqual([0, 0])
    expect(world.lastEventIds).toEqual([null, '1'])
    expect(world.dials[0]?.signal.aborted).toBe(true)
  })

  test('cuts a wait short', async () => {
    const world = new World([() => status(503, { 'retry-after': '600' }), () => open(block(1))])
    const consumer = world.stream().run()
    await world.pass(1_000)
    expect(consumer.stream.state).toBe('waiting')
    consumer.stream.reconnect()
    await world.settle()
    expect(consumer.data).toEqual(['data 1'])
    expect(world.dials[1]?.at).toBe(1_000)
  })

  test('goes through an open breaker, once', async () => {
    const world = new World(() => status(503))
    const consumer = world.stream({ breaker: { onOpen: 'wait', threshold: 2 } }).run()
    await world.pass(10_000)
    const before = world.dials.length
    consumer.stream.reconnect()
    await world.settle()
    expect(world.dials).toHaveLength(before + 1)
    await world.pass(20_000)
    expect(world.dials).toHaveLength(before + 1)
  })

  test('before the first pull and after the end does nothing', async () => {
    const world = new World(() => open())
    const consumer = world.stream()
    consumer.stream.reconnect()
    await world.settle()
    expect([consumer.stream.state, world.dials.length]).toEqual(['idle', 0])
    await consumer.stream.close()
    consumer.stream.reconnect()
    await world.settle()
    expect(world.dials).toHaveLength(0)
  })
})
