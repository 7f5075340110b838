import { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import { Agent, keepaliveFetch, resilientFetch } from 'resilient-sse'
import { answer, FaultServer, redirect } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { until } from '../faults/support.ts'
import { STREAM } from './fetch-body.ts'
import { finite, serve, status, stream } from './server.ts'

describe('what is no event stream comes back as the very object that the fetch below gave:', () => {
  const html = { headers: { 'content-type': 'text/html' } }
  const sse = { headers: { 'content-type': 'text/event-stream' } }
  test.each([
    ['JSON', Response.json({ a: 1 })],
    ['a page with status 200', new Response('<html>', html)],
    ['an error with the type of a stream', new Response('data: no\n\n', { ...sse, status: 500 })],
    ['206 with the type of a stream', new Response('data: part\n\n', { ...sse, status: 206 })],
    ['204', new Response(null, { status: 204 })],
    ['304', new Response(null, { status: 304 })],
    ['200 without a body', new Response(null, sse)],
  ])('%s', async (_, given) => {
    const fetch = resilientFetch({ fetch: async () => given })
    expect(await fetch('http://server.test/', STREAM)).toBe(given)
    expect(await fetch('http://server.test/', { method: 'POST' })).toBe(given)
  })

  test('what it rejects with, too', async () => {
    const error = new TypeError('fetch failed')
    const fetch = resilientFetch({ fetch: () => Promise.reject(error) })
    await expect(fetch('http://server.test/', { method: 'POST' })).rejects.toBe(error)
    await expect(fetch('http://server.test/', STREAM)).rejects.toBe(error)
  })
})

test('JSON, gzip, HEAD, 204, 304 and error pages are read as with a plain fetch', async () => {
  const json = JSON.stringify({ text: 'é'.repeat(1_000) })
  await using server = await serve(
    response => response.writeHead(200, { 'content-type': 'application/json' }).end(json),
    response =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync(json)),
    response => response.writeHead(200, { 'content-length': '7' }).end(),
    status(204),
    status(304),
    response => response.writeHead(503, { 'retry-after': '7' }).end('busy'),
  )
  const fetch = resilientFetch()
  expect(await (await fetch(server.url)).text()).toBe(json)
  expect(await (await fetch(new URL(server.url))).json()).toEqual(JSON.parse(json))
  expect((await fetch(server.url, { method: 'head' })).headers.get('content-length')).toBe('7')
  expect((await fetch(server.url)).status).toBe(204)
  expect((await fetch(server.url)).status).toBe(304)
  const busy = await fetch(server.url)
  expect([busy.ok, busy.status, busy.headers.get('retry-after')]).toEqual([false, 503, '7'])
  expect(await busy.text()).toBe('busy')
  expect(server.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'HEAD', 'GET', 'GET', 'GET'])
  // Nothing of ours is asked for: undici's own says which encodings it reads.
  expect(server.requests[0]?.headers['accept-encoding']).toMatch(/gzip/)
})

test('a content type that is said twice is none of a stream’s, and its body is read as any other', async () => {
  const type = 'text/event-stream'
  await using server = await serve(response => {
    response.writeHead(200, ['content-type', type, 'content-type', type]).end('data: a\n\n')
  })
  const response = await resilientFetch()(server.url, STREAM)
  expect(response.headers.get('content-type')).toBe(`${type}, ${type}`)
  expect(await response.text()).toBe('data: a\n\n')
})

describe('a request is sent as it was said:', () => {
  const form = new FormData()
  form.append('name', 'é')
  form.append('file', new Blob(['bytes'], { type: 'text/x' }), 'a.txt')
  const chunks = () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('in '))
        controller.enqueue(new TextEncoder().encode('pieces'))
        controller.close()
      },
    })

  test.each([
    ['text', () => 'text é', /^text\/plain/, /^text é$/],
    ['bytes', () => new TextEncoder().encode('bytes'), undefined, /^bytes$/],
    ['a Blob', () => new Blob(['blob'], { type: 'text/x' }), /^text\/x$/, /^blob$/],
    ['a form', () => new URLSearchParams({ a: 'b c' }), /^application\/x-www-form-urlencoded/, /^a=b\+c$/],
    [
      'form data with a file',
      () => form,
      /^multipart\/form-data; boundary=/,
      /name="name"\s+é.*filename="a.txt".*bytes/s,
    ],
    ['a stream', chunks, undefined, /^in pieces$/],
  ])('%s', async (_, body, type, text) => {
    const got: { method: string | undefined; type: string | undefined; text: string }[] = []
    await using server = await serve(async (response, request) => {
      let text = ''
      for await (const chunk of request) text += chunk
      got.push({ method: request.method, type: request.headers['content-type'], text })
      response.end()
    })
    const fetch = resilientFetch()
    await fetch(server.url, { method: 'POST', body: body() })
    await fetch(new Request(server.url, { method: 'PUT', body: body(), duplex: 'half' } as RequestInit))
    expect(got.map(({ method }) => method)).toEqual(['POST', 'PUT'])
    for (const one of got) {
      if (type === undefined) expect(one.type).toBeUndefined()
      else expect(one.type).toMatch(type)
      expect(one.text).toMatch(text)
    }
  })

  test('a Request brings its method, headers and signal, and what is said beside it wins', async () => {
    await using server = await serve(finite('data: a\n\n'))
    const fetch = resilientFetch()
    const abort = new AbortController()
    const request = new Request(`${server.url}a`, {
      ...STREAM,
      method: 'POST',
      signal: abort.signal,
    })
    const response = await fetch(request, { method: 'GET', headers: { ...STREAM.headers, 'x-app': '2' } })
    expect(await response.text()).toBe('data: a\n\n')
    expect(server.requests[0]).toMatchObject({ method: 'GET', url: '/a', headers: { 'x-app': '2' } })
    abort.abort()
    await expect(fetch(request)).rejects.toThrow('aborted')
    expect(server.requests).toHaveLength(1)
  })

  test('a Request whose body never ends is given up when its signal says so', async () => {
    const abort = new AbortController()
    const body = new ReadableStream()
    const request = new Request('http://server.test/', {
      method: 'POST',
      body,
      signal: abort.signal,
      duplex: 'half',
    } as RequestInit)
    const dial = resilientFetch()(request)
    abort.abort()
    await expect(dial).rejects.toThrow('aborted')
  })

  test('methods keep their case unless the standard says otherwise', async () => {
    const methods: unknown[] = []
    const fetch = resilientFetch({
      fetch: async (_, init) => {
        methods.push(init?.method)
        return new Response()
      },
    })
    for (const method of ['get', 'pOst', 'patch', 'Custom']) await fetch('http://server.test/', { method })
    expect(methods).toEqual(['GET', 'POST', 'patch', 'Custom'])
  })

  test('a URL that is none, and one with credentials, are refused as a plain fetch refuses them', async () => {
    await expect(resilientFetch()('/relative')).rejects.toThrow(TypeError)
    await expect(resilientFetch()('http://user:secret@server.test/')).rejects.toThrow(TypeError)
  })
})

describe('connections', () => {
  test('are kept for the next request, whichever is asked for', async () => {
    await using server = await serve(response => response.writeHead(200).end('{}'))
    let accepted = 0
    const counting = createServer((request, response) => {
      response.end(request.url)
    }).on('connection', () => accepted++)
    await new Promise<void>(resolve => counting.listen(0, '127.0.0.1', resolve))
    const { port } = counting.address() as { port: number }
    const fetch = resilientFetch()
    for (let call = 0; call < 30; call++)
      await (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })).text()
    expect(accepted).toBeLessThanOrEqual(2)
    await (await fetch(server.url)).text()
    expect(server.sockets()).toBe(1)
    counting.closeAllConnections()
    counting.close()
  })

  test('a stream that is asked for by GET has one of its own, which no other request waits for', async () => {
    await using server = await serve(stream('data: a\n\n'), status(204))
    const fetch = resilientFetch()
    const response = await fetch(server.url, STREAM)
    await (await fetch(server.url)).text()
    expect(server.sockets()).toBe(2)
    await response.body?.cancel()
    await until(() => server.sockets() === 1, 'the stream had gone')
  })

  test('are those of a dispatcher that comes with the request, also after a break', async () => {
    await using server = await serve((response, request) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\ndata: a\n\n')
      if (request.headers['last-event-id'] === '1') response.end()
      else setTimeout(() => response.destroy(), 20)
    })
    let dispatched = 0
    const agent = new Agent().compose(dispatch => (options, handler) => {
      dispatched++
      return dispatch(options, handler)
    })
    const fetch = resilientFetch({ backoff: { baseMs: 20 } })
    const response = await fetch(server.url, { ...STREAM, dispatcher: agent } as RequestInit)
    expect(await response.text()).toContain('data: a')
    await (await fetch(server.url, { method: 'POST', dispatcher: agent } as RequestInit)).body?.cancel()
    expect([dispatched, server.requests.length]).toEqual([3, 3])
    await agent.close()
  })

  test('a dispatcher of another undici is refused, and not passed over', async () => {
    const dial = keepaliveFetch()('http://server.test/', { dispatcher: { dispatch() {} } } as RequestInit)
    await expect(dial).rejects.toMatchObject({
      code: 'ERR_SSE_OPTION',
      message: expect.stringMatching(/^dispatcher: /),
    })
  })
})

describe('redirects', () => {
  test("are left to the caller with 'manual', and refused with 'error'", async () => {
    await using server = await FaultServer.start({ otherwise: [redirect('/elsewhere', 307)] })
    const fetch = resilientFetch()
    const response = await fetch(server.url, { ...STREAM, redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([307, '/elsewhere'])
    await expect(fetch(server.url, { redirect: 'error' })).rejects.toThrow(TypeError)
    expect(server.requests).toHaveLength(2)
  })

  test('are followed at the same origin with everything, and the Response says so', async () => {
    await using server = await FaultServer.start({
      script: [[redirect('/b?c', 307)], [answer(200, { body: '{}' })], [redirect('/b', 303)], [answer(200)]],
    })
    const fetch = resilientFetch()
    const init = { method: 'POST', body: 'paid', headers: { authorization: 'Bearer 1' } }
    const response = await fetch(server.url, init)
    expect([response.redirected, response.url]).toEqual([true, server.urlOf('/b?c')])
    await fetch(server.url, init)
    expect(server.requests.map(({ method, body, headers }) => [method, body, headers.authorization])).toEqual(
      [
        ['POST', 'paid', 'Bearer 1'],
        ['POST', 'paid', 'Bearer 1'],
        ['POST', 'paid', 'Bearer 1'],
        ['GET', '', 'Bearer 1'],
      ],
    )
  })

  test('to another origin leave the user’s headers behind, also on the way back, but not what a stream needs', async () => {
    await using other = await FaultServer.start({ otherwise: [answer(404)] })
    await using server = await FaultServer.start({
      script: [[redirect(other.url)]],
      otherwise: [answer(200, { headers: { 'content-type': 'text/event-stream' }, body: 'data: a\n\n' })],
    })
    other.setScript([[redirect(server.url)]])
    const headers = {
      ...STREAM.headers,
      authorization: 'Bearer 1',
      cookie: 'a=b',
      'x-key': '1',
      'last-event-id': '7',
    }
    const response = await resilientFetch()(server.url, { headers })
    expect([response.redirected, response.url]).toEqual([true, server.url])
    expect(await response.text()).toBe('data: a\n\n')
    const [first, back] = server.requests
    expect(first?.headers).toMatchObject(headers)
    for (const request of [other.requests[0], back]) {
      const { authorization, cookie, 'x-key': key } = request?.headers ?? {}
      expect([authorization, cookie, key]).toEqual([undefined, undefined, undefined])
      expect(request?.headers).toMatchObject({
        ...STREAM.headers,
        'accept-encoding': 'identity',
        'last-event-id': '7',
      })
    }
  })

  test('never carry a body to another origin', async () => {
    await using other = await FaultServer.start()
    await using server = await FaultServer.start({ otherwise: [redirect(other.url, 307)] })
    const dial = resilientFetch()(server.url, { method: 'POST', body: 'secret' })
    await expect(dial).rejects.toMatchObject({ code: 'ERR_SSE_REDIRECT', status: 307 })
    expect([server.requests.length, other.requests.length]).toEqual([1, 0])
  })

  test('are followed twenty times', async () => {
    await using server = await FaultServer.start({ otherwise: [redirect('@self')] })
    await expect(resilientFetch()(server.url)).rejects.toMatchObject({ code: 'ERR_SSE_REDIRECT' })
    expect(server.requests).toHaveLength(21)
  })
})
