import { mcpFetch } from 'resilient-sse/mcp'
import { describe, expect, test } from 'vitest'
import { serve, status } from './server.ts'

// Which credentials a resume carries: a token of its own session, and only to its own origin.

const SSE = { 'content-type': 'text/event-stream' }
const message = (method: string, id?: number) => JSON.stringify({ jsonrpc: '2.0', id, method })
const note = `data: ${message('notifications/message')}\n\n`
const result = `id: 2\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} })}\n\n`

const post = (token: string, session: string | undefined, body: string): RequestInit => ({
  method: 'POST',
  headers: {
    authorization: token,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...(session !== undefined && { 'mcp-session-id': session }),
  },
  body,
})

/** A fetch below, whose first stream breaks in `break()`; it lets `Bearer bad` in nowhere. */
function below() {
  const resumed: (string | null)[] = []
  let leave = () => {}
  const fetch: typeof globalThis.fetch = async (_, init) => {
    const headers = new Headers(init?.headers)
    const authorization = headers.get('authorization')
    if (init?.method !== 'POST') {
      resumed.push(authorization)
      return new Response(result, { headers: SSE })
    }
    if (authorization === 'Bearer bad') return new Response(null, { status: 401 })
    if (!String(init.body).includes('tools/call')) return new Response(null, { status: 202 })
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`retry: 10\nid: 1\n${note}`))
        leave = () => controller.close()
      },
    })
    return new Response(body, { headers: SSE })
  }
  return { fetch, resumed, break: () => leave() }
}

const AT = 'http://server.test/mcp'

describe('after another request with a newer token, a resume has', () => {
  test.each<[string, string, string, string | undefined, string | undefined, string]>([
    ['that of its session', 'Bearer new', AT, 's', 's', 'Bearer new'],
    ['its own, when that was of another session', 'Bearer new', AT, 's', 't', 'Bearer old'],
    ['its own, when nobody names a session', 'Bearer new', AT, undefined, undefined, 'Bearer old'],
    ['its own, when that was for another URL', 'Bearer new', 'http://other.test/mcp', 's', 's', 'Bearer old'],
    ['its own, when that was refused', 'Bearer bad', AT, 's', 's', 'Bearer old'],
  ])('%s', async (_, token, url, session, otherSession, expected) => {
    const server = below()
    const fetch = mcpFetch({ fetch: server.fetch, backoff: { baseMs: 10 } })
    const response = await fetch(AT, post('Bearer old', session, message('tools/call', 1)))
    await fetch(url, post(token, otherSession, message('notifications/initialized')))
    server.break()
    expect(await response.text()).toContain('"result"')
    expect(server.resumed).toEqual([expected])
  })
})

test.each([
  ['DPoP', { authorization: 'DPoP token', dpop: 'proof' }],
  ['HTTP Message Signatures', { authorization: 'Bearer token', 'signature-input': 'sig1=("@method")' }],
  ['SigV4', { authorization: 'AWS4-HMAC-SHA256 Credential=a, Signature=b' }],
])(
  '%s: a signed request is not resumed here; the SDK is asked to come, and its own goes out',
  async (_, signed) => {
    const server = below()
    const fetch = mcpFetch({ fetch: server.fetch, backoff: { baseMs: 10 } })
    const call = post('', 's', message('tools/call', 1))
    const response = await fetch(AT, { ...call, headers: { ...(call.headers as object), ...signed } })
    server.break()
    expect(await response.text()).toBe(`${note}retry: 0\nid: 1\ndata: \n\n`)
    expect(server.resumed).toEqual([])
    const headers = { ...signed, accept: SSE['content-type'], 'mcp-session-id': 's', 'last-event-id': '1' }
    const resumed = await fetch(AT, { headers: { ...headers, authorization: 'DPoP signed-anew' } })
    expect(await resumed.text()).toContain('"result"')
    expect(server.resumed).toEqual(['DPoP signed-anew'])
  },
)

test('a resume that is redirected to another origin leaves its token at home, a newer one too', async () => {
  await using other = await serve(status(503))
  await using server = await serve(
    response => response.writeHead(200, SSE).end(`retry: 300\nid: 1\n${note}`),
    response => response.writeHead(202).end(),
    response => response.writeHead(307, { location: `${other.url}stolen` }).end(),
    response => response.writeHead(200, SSE).end(result),
  )
  const fetch = mcpFetch({ backoff: { baseMs: 20 } })
  const response = await fetch(server.url, post('Bearer old', 's', message('tools/call', 1)))
  const text = response.text()
  await fetch(server.url, post('Bearer new', 's', message('notifications/initialized')))
  expect(await text).toContain('"result"')
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer old',
    'Bearer new',
    'Bearer new',
    'Bearer new',
  ])
  expect(other.requests.length).toBeGreaterThan(0)
  for (const { headers } of other.requests) {
    expect(headers.authorization).toBeUndefined()
    expect(headers['mcp-session-id']).toBeUndefined()
  }
})
