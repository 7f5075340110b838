import { mcpFetch } from 'resilient-sse/mcp'
import { comment, end, FaultServer, raw, reset, stay, wait } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'

const URL = 'http://server.test/mcp'
const CALL: RequestInit = {
  method: 'POST',
  headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} }),
}
const event = (id: string, message: object) => raw(`id: ${id}\ndata: ${JSON.stringify(message)}\n\n`)
const note = { jsonrpc: '2.0', method: 'notifications/message' }
const result = { jsonrpc: '2.0', id: 1, result: {} }
const QUICK = { backoff: { baseMs: 20 } }

describe('what is no stream is passed on as the same object', () => {
  const as = (type: string, status = 200) => new Response('{}', { status, headers: { 'content-type': type } })
  const stream = () => as('text/event-stream')

  test.each<[string, Response, RequestInit]>([
    ['JSON', as('application/json'), CALL],
    ['202, whatever its type', as('text/event-stream', 202), CALL],
    ['an error, whatever its type', as('text/event-stream', 500), CALL],
    ['404', as('application/json', 404), CALL],
    [
      'a redirect',
      new Response(null, { status: 307, headers: { location: '/x' } }),
      { ...CALL, redirect: 'manual' },
    ],
    ['a type that only begins like one', as('text/event-stream-not'), CALL],
    [
      'a stream that nobody asked for (OAuth)',
      stream(),
      { method: 'POST', body: 'grant_type=refresh_token' },
    ],
    ['metadata of OAuth', stream(), { headers: { accept: 'application/json' } }],
    ['metadata that was asked for without a wish', stream(), {}],
    ['the answer to a notification', stream(), { ...CALL, body: JSON.stringify(note) }],
    [
      'the end of a session',
      as('text/plain'),
      { method: 'DELETE', headers: { accept: 'text/event-stream' } },
    ],
    ['405 to a GET', as('text/plain', 405), { headers: { accept: 'text/event-stream' } }],
  ])('%s', async (_, answer, init) => {
    expect(await mcpFetch({ fetch: async () => answer })(URL, init)).toBe(answer)
  })

  test.each(['text/event-stream', 'text/event-stream; charset=utf-8', 'Text/Event-Stream'])(
    'but %s is taken over',
    async type => {
      const answer = new Response(`data: ${JSON.stringify(result)}\n\n`, {
        headers: { 'content-type': type },
      })
      const response = await mcpFetch({ fetch: async () => answer })(URL, CALL)
      expect(response).not.toBe(answer)
      expect(await response.text()).toBe(`data: ${JSON.stringify(result)}\n\n`)
    },
  )
})

test('any 2xx with a stream is taken over, and keeps its status', async () => {
  const answer = new Response(`data: ${JSON.stringify(result)}\n\n`, {
    status: 201,
    headers: { 'content-type': 'text/event-stream' },
  })
  const response = await mcpFetch({ fetch: async () => answer })(URL, CALL)
  expect(response.status).toBe(201)
  expect(await response.text()).toContain('"result"')
})

test('what cannot be sent rejects, and is not sent again', async () => {
  let sent = 0
  const fetch = mcpFetch({
    fetch: async () => {
      sent++
      throw new TypeError('fetch failed')
    },
  })
  await expect(fetch(URL, CALL)).rejects.toThrow('fetch failed')
  expect(sent).toBe(1)
})

test('only whole blocks are passed on: a leg that is cut inside an event leaves nothing of it', async () => {
  await using server = await FaultServer.start({
    script: [
      [event('1', note), raw('id: 2\ndata: {"json'), wait(30), reset()],
      [event('2', note), event('3', result), end()],
    ],
  })
  const response = await mcpFetch(QUICK)(server.url, CALL)
  const block = `data: ${JSON.stringify(note)}\n\n`
  expect(await response.text()).toBe(`${block}${block}data: ${JSON.stringify(result)}\n\n`)
  expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual([undefined, '1'])
})

test('comments are passed on at once', async () => {
  await using server = await FaultServer.start({ script: [[comment('alive'), stay()]] })
  const response = await mcpFetch(QUICK)(server.url, CALL)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const { value } = await reader.read()
  expect(new TextDecoder().decode(value)).toBe(':alive\n')
  await reader.cancel()
  await server.waitForClose(0, 2_000)
})

test('a leg is given up before the next one is opened', async () => {
  await using server = await FaultServer.start({
    script: [
      [event('1', note), stay()],
      [event('2', result), end()],
    ],
  })
  let closedBefore: unknown
  const fetch = mcpFetch({
    // Time for the server to see it.
    backoff: { baseMs: 500, jitter: 0 },
    heartbeat: { timeoutMs: 200 },
    onLifecycle: event => {
      if (event.type === 'dial' && event.lastEventId !== undefined)
        closedBefore = server.requests[0]?.closedBy
    },
  })
  await (await fetch(server.url, CALL)).text()
  expect(closedBefore).toBe('client')
})
