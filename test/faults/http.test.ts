import { ResilientSse, type SseHttpError } from 'resilient-sse'
import { answer, cut, FaultServer, headers, rest, type Step, send, stay } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { expectDials, FAST, failure, take, Witness } from './support.ts'

const STREAM: Step[] = [rest(), stay()]

describe('204', () => {
  test('ends the loop without an error and for good', async () => {
    await using server = await FaultServer.start({ otherwise: [answer(204)] })
    const stream = new ResilientSse(server.url, FAST)
    expect(await take(stream, 1)).toEqual([])
    expect(stream.state).toBe('closed')
    expectDials(server.requests, [undefined])
  })

  test('in answer to a redial ends it, too, whatever isRetryable says', async () => {
    await using server = await FaultServer.start({
      log: { count: 2 },
      script: [[send(2), cut()]],
      otherwise: [answer(204)],
    })
    expect(await take(new ResilientSse(server.url, { ...FAST, isRetryable: () => true }), 9)).toHaveLength(2)
    expectDials(server.requests, [undefined, server.log.idAt(1)])
  })
})

describe('a status that speaks of a moment is dialled again, before the first open and after it', () => {
  test.each([408, 425, 429, 500, 502, 503, 504])('%i', async status => {
    await using server = await FaultServer.start({
      log: { count: 2 },
      script: [[answer(status)], [send(1), cut()], [answer(status)]],
    })
    const witness = new Witness()
    await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 2)
    const refused = witness.of('drop').filter(({ opened }) => !opened)
    expect(refused).toMatchObject([
      { reason: 'refused', error: { status } },
      { reason: 'refused', error: { status } },
    ])
    const id = server.log.idAt(0)
    expectDials(server.requests, [undefined, undefined, id, id])
  })
})

describe('a status that speaks of the request is final, before the first open and after it', () => {
  const statuses = [
    201, 202, 205, 206, 300, 304, 400, 401, 402, 403, 404, 405, 406, 409, 410, 413, 418, 422, 431, 451, 501,
    505, 599,
  ]
  test.each(statuses)('%i', async status => {
    await using server = await FaultServer.start({ otherwise: [answer(status)] })
    const { error } = await failure(new ResilientSse(server.url, FAST))
    expect(error).toMatchObject({
      name: 'SseHttpError',
      code: 'ERR_SSE_HTTP',
      status,
      retryable: false,
      url: server.url,
    })
    expectDials(server.requests, [undefined])

    await using later = await FaultServer.start({
      log: { count: 1 },
      script: [[send(1), cut()]],
      otherwise: [answer(status)],
    })
    expect((await failure(new ResilientSse(later.url, FAST))).error).toMatchObject({
      code: 'ERR_SSE_HTTP',
      status,
    })
    expectDials(later.requests, [undefined, later.log.idAt(0)])
  })

  test('404 is dialled again where isRetryable allows it, within maxAttempts', async () => {
    await using server = await FaultServer.start({ otherwise: [answer(404)] })
    const { error } = await failure(
      new ResilientSse(server.url, {
        ...FAST,
        breaker: false,
        isRetryable: () => true,
        backoff: { baseMs: 10, maxAttempts: 4 },
      }),
    )
    expect(error).toMatchObject({ code: 'ERR_SSE_HTTP', status: 404 })
    expectDials(server.requests, Array(4).fill(undefined))
  })
})

describe('401', () => {
  const server401 = (...rest401: Step[][]) =>
    FaultServer.start({ log: { count: 2 }, script: rest401, otherwise: STREAM })

  test('with a headers function is dialled once more at once, with the headers of the moment', async () => {
    await using server = await server401([answer(401)])
    let calls = 0
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      ...FAST,
      headers: async () => ({ authorization: `Bearer ${++calls}` }),
      onLifecycle: witness.onLifecycle,
    })
    await take(stream, 2)
    expect(server.requests.map(one => one.headers.authorization)).toEqual(['Bearer 1', 'Bearer 2'])
    expect(witness.of('wait')).toEqual([])
    expect(server.requests).toHaveLength(2)
    for (const [index, request] of server.requests.entries())
      expectDials([request], [undefined], { authorization: `Bearer ${index + 1}` })
  })

  test('twice in a row is final, and the second is not answered by a third dial', async () => {
    await using server = await server401([answer(401)], [answer(401)])
    const { error } = await failure(
      new ResilientSse(server.url, { ...FAST, headers: () => ({ 'x-token': 'a' }) }),
    )
    expect(error).toMatchObject({ code: 'ERR_SSE_HTTP', status: 401 })
    expectDials(server.requests, [undefined, undefined], { 'x-token': 'a' })
  })

  test('is refreshed once for each successful open', async () => {
    await using server = await server401([answer(401)], [send(1), cut()], [answer(401)])
    await take(new ResilientSse(server.url, { ...FAST, headers: () => ({ 'x-token': 'a' }) }), 2)
    const id = server.log.idAt(0)
    expectDials(server.requests, [undefined, undefined, id, id], { 'x-token': 'a' })
  })

  test('with fixed headers is final at once', async () => {
    await using server = await server401([answer(401)])
    const { error } = await failure(new ResilientSse(server.url, { ...FAST, headers: { 'x-token': 'a' } }))
    expect(error).toMatchObject({ code: 'ERR_SSE_HTTP', status: 401 })
    expect(JSON.stringify(error) + error.message).not.toContain('"a"')
    expectDials(server.requests, [undefined], { 'x-token': 'a' })
  })
})

describe('Retry-After is a floor', () => {
  test.each<[string, number, () => string]>([
    ['in seconds', 429, () => '1'],
    ['as a date', 503, () => new Date(Math.ceil(Date.now() / 1000) * 1000 + 1_000).toUTCString()],
  ])('%s (%i)', async (_, status, value) => {
    await using server = await FaultServer.start({
      log: { count: 1 },
      script: [[answer(status, { headers: { 'retry-after': value() } })]],
    })
    const witness = new Witness()
    await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 1)
    const [wait] = witness.of('wait')
    expect(wait).toMatchObject({ reason: 'retry-after' })
    expect(wait?.delayMs).toBeGreaterThanOrEqual(850)
    expect(wait?.delayMs).toBeLessThanOrEqual(4_000)
    const [first, second] = server.requests
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual((wait?.delayMs ?? 0) - 5)
    expect(witness.of('drop')[0]?.error.retryAfterMs).toBeGreaterThan(850)
    expectDials(server.requests, [undefined, undefined])
  })

  test.each(['soon', '-1', '1.5', ''])('and "%s" is none', async value => {
    await using server = await FaultServer.start({
      log: { count: 1 },
      script: [[answer(503, { headers: { 'retry-after': value } })]],
    })
    const witness = new Witness()
    await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 1)
    expect(witness.of('wait')).toMatchObject([{ reason: 'backoff' }])
    expectDials(server.requests, [undefined, undefined])
  })

  test('that asks for a day is taken for an hour', async () => {
    await using server = await FaultServer.start({
      otherwise: [answer(503, { headers: { 'retry-after': '86400' } })],
    })
    const witness = new Witness()
    const stream: ResilientSse = new ResilientSse(server.url, {
      ...FAST,
      onLifecycle: event => {
        witness.onLifecycle(event)
        if (event.type === 'wait') void stream.close()
      },
    })
    await take(stream, 1)
    expect(witness.of('wait')[0]?.delayMs).toBeGreaterThanOrEqual(3_600_000)
    expect(witness.of('wait')[0]?.delayMs).toBeLessThanOrEqual(7_200_000)
    expectDials(server.requests, [undefined])
  })
})

describe('the content type', () => {
  test.each([
    'text/event-stream',
    'text/event-stream;charset=windows-1252',
    'text/event-stream;',
    'Text/Event-Stream',
    ' text/event-stream ; charset=utf-8',
  ])('%s is a stream, read as UTF-8', async type => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      otherwise: [headers({ 'content-type': type }), { do: 'event', data: 'é豆' }, stay()],
    })
    expect(await take(new ResilientSse(server.url, FAST), 1)).toMatchObject([{ data: 'é豆' }])
    expectDials(server.requests, [undefined])
  })

  test.each([
    'text/event-streamx',
    'text/x-bogus',
    'text/html',
    'application/json',
    'x/text/event-stream',
    null,
  ])('%s is none: final before the first open, dialled again after it', async type => {
    await using server = await FaultServer.start({
      otherwise: [headers({ 'content-type': type }), { do: 'event', data: 'x' }, stay()],
    })
    const { error } = await failure(new ResilientSse(server.url, FAST))
    expect(error).toMatchObject({ code: 'ERR_SSE_CONTENT_TYPE', status: 200, retryable: false })
    expect((error as SseHttpError).url).toBe(server.url)
    expectDials(server.requests, [undefined])

    const page: Step[] = [headers({ 'content-type': type }), { do: 'event', data: 'x' }, stay()]
    await using later = await FaultServer.start({ log: { count: 2 }, script: [[send(1), cut()], page] })
    expect(await take(new ResilientSse(later.url, FAST), 2)).toHaveLength(2)
    const id = later.log.idAt(0)
    expectDials(later.requests, [undefined, id, id])
  })
})
