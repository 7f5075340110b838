import { gzipSync } from 'node:zlib'
import { resilientFetch } from 'resilient-sse'
import {
  bigEvent,
  end,
  FaultServer,
  lineEnding,
  oneChunkPerEvent,
  raw,
  rest,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { sleep, until, Witness } from '../faults/support.ts'
import { receive, STREAM, textOf } from './fetch-body.ts'
import { finite, serve, stream } from './server.ts'

const SSE = { 'content-type': 'text/event-stream' }

describe('the body is what the server sent, byte for byte:', () => {
  test.each([
    [
      'comments, retry, ids without data, unknown fields',
      ': hi\n\nretry: 9\n\nid: 3\n\nx: y\ndata: a\n\n:\n\n',
    ],
    ['a retry that no timer can hold, and one that is no number', 'retry: 99999999999\n\nretry: soon\n\n'],
    [
      'ids with spaces, beyond Latin-1, with NUL, and empty',
      'id:  é 漢\ndata: a\n\nid: \0\n\nid\ndata: b\n\n',
    ],
    ['empty data', 'data\n\ndata:\ndata:\n\n'],
    ['CRLF', 'id: 1\r\ndata: a\r\n\r\n: c\r\n\r\n'],
    ['CR', 'id: 1\rdata: a\r\rdata: b\r\r'],
    ['what an unfinished block at a clean end holds', 'data: a\n\ndata: [DONE]'],
    ['nothing', ''],
  ])('%s', async (_, text) => {
    await using server = await serve(finite(text))
    expect(await textOf(await resilientFetch()(server.url, STREAM))).toBe(text)
    expect(server.requests).toHaveLength(1)
  })

  test('except for a byte order mark, which belongs to a connection', async () => {
    await using server = await serve(finite('\uFEFFdata: a\n\n\uFEFFdata: b\n\n'))
    const { text } = await receive(await resilientFetch()(server.url, STREAM))
    expect(text).toBe('data: a\n\n\uFEFFdata: b\n\n')
  })

  test('an event of four MiB', async () => {
    const chars = 4 * 1024 * 1024
    await using server = await FaultServer.start({ log: { count: 0 }, script: [[bigEvent(chars), end()]] })
    const { events, error } = await receive(await resilientFetch()(server.url, STREAM))
    expect(error).toBeUndefined()
    expect(events.map(({ data }) => data.length)).toEqual([chars])
  })

  test('a compressed answer is read as the stream that it holds', async () => {
    await using server = await serve(response => {
      response.writeHead(200, { ...SSE, 'content-encoding': 'gzip' }).end(gzipSync('id: 1\ndata: a\n\n'))
    })
    const response = await resilientFetch()(server.url, { ...STREAM, headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.has('content-encoding')).toBe(false)
    expect(response.headers.has('content-length')).toBe(false)
    expect(await response.text()).toBe('id: 1\ndata: a\n\n')
  })
})

test('an event that exceeds maxEventChars is a typed error, after what came before it', async () => {
  await using server = await FaultServer.start({
    log: { count: 0 },
    script: [[raw('id: 1\ndata: a\n\n'), bigEvent(2_000), stay()]],
  })
  const { text, error } = await receive(await resilientFetch({ maxEventChars: 1_000 })(server.url, STREAM))
  expect(text).toBe('id: 1\ndata: a\n\n')
  expect(error?.code).toBe('ERR_SSE_EVENT_TOO_LARGE')
  expect(server.requests).toHaveLength(1)
})

test('a comment line is handed on at once, without the blank line after it', async () => {
  await using server = await serve(stream('data: a\n\n: thinking\n'))
  const { text } = await receive(await resilientFetch()(server.url, STREAM), ({ text }) =>
    text.includes('think'),
  )
  expect(text).toBe('data: a\n\n: thinking\n')
})

test('a block that is not complete is not handed on', async () => {
  await using server = await FaultServer.start({
    log: { count: 0 },
    script: [[raw('data: a\n\ndata: b\nid: 1'), stay()]],
  })
  const response = await resilientFetch({ heartbeat: { timeoutMs: 200 } })(server.url, STREAM)
  const { text, error } = await receive(response)
  expect([text, error?.code]).toEqual(['data: a\n\n', 'ERR_SSE_HEARTBEAT'])
})

describe('the Response looks as the one of a plain fetch:', () => {
  test('status, headers, URL and type are the server’s, less what described the body as it was sent', async () => {
    await using server = await serve(response => {
      response
        .writeHead(200, 'Fine', { ...SSE, 'content-length': '9', 'x-request-id': 'r1' })
        .end('data: a\n\n')
    })
    const response = await resilientFetch()(`${server.url}path?query=1`, STREAM)
    const { ok, status, statusText, url, redirected, bodyUsed } = response
    expect(response).toBeInstanceOf(Response)
    expect({ ok, status, statusText, url, redirected, bodyUsed }).toEqual({
      ok: true,
      status: 200,
      statusText: 'Fine',
      url: `${server.url}path?query=1`,
      redirected: false,
      bodyUsed: false,
    })
    expect(response.headers.get('x-request-id')).toBe('r1')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.has('content-length')).toBe(false)
  })

  test('it can be cloned, and both know where they came from', async () => {
    await using server = await serve(finite('data: a\n\n'))
    const response = await resilientFetch()(server.url, STREAM)
    const clone = response.clone()
    expect([clone.url, clone.clone().url]).toEqual([server.url, server.url])
    expect(await Promise.all([response.text(), clone.text()])).toEqual(['data: a\n\n', 'data: a\n\n'])
  })

  test('its body is read with for await, and breaking out frees the socket', async () => {
    await using server = await serve(stream('data: a\n\n'))
    const response = await resilientFetch()(server.url, STREAM)
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      expect(new TextDecoder().decode(chunk)).toBe('data: a\n\n')
      break
    }
    await until(() => server.sockets() === 0, 'the socket was free')
  })
})

test.each([
  ['GET', true],
  ['GET', false],
  ['POST', true],
  ['POST', false],
] as const)(
  'cancelling the body of a %s frees its socket at once (read before: %s)',
  async (method, isRead) => {
    await using server = await serve(stream('data: a\n\n'))
    const response = await resilientFetch()(server.url, { method, ...STREAM })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    if (isRead) await reader.read()
    await reader.cancel()
    await until(() => server.sockets() === 0, 'the socket was free')
    expect(server.requests).toHaveLength(1)
  },
)

test('each chunk is the reader’s own: bytes in a buffer that holds nothing else', async () => {
  await using server = await FaultServer.start({
    log: { count: 20 },
    script: [[oneChunkPerEvent(), rest(), raw('data: unfinished'), end()]],
  })
  const response = await resilientFetch()(server.url, STREAM)
  let length = 0
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    expect(Object.getPrototypeOf(chunk)).toBe(Uint8Array.prototype)
    expect(chunk.buffer.byteLength).toBe(chunk.length)
    length += chunk.length
  }
  expect(length).toBeGreaterThan(20)
})

test('nothing is read ahead: a reader that stops makes the server wait, and then gets everything', async () => {
  const log = { count: 3_000, bytes: [8_000, 8_000] } as const
  await using server = await FaultServer.start({ log, script: [[rest(), end()]] })
  const response = await resilientFetch()(server.url, STREAM)
  await until(() => (server.requests[0]?.writeBlockedMs ?? 0) > 100, 'the server had to wait', 20_000)
  const written = server.requests[0]?.bytesWritten ?? 0
  await sleep(100)
  expect(server.requests[0]?.bytesWritten).toBe(written)
  expect(written).toBeLessThan(3_000 * 8_000)
  const { events, error } = await receive(response)
  expect([events.length, error]).toEqual([3_000, undefined])
})

test('before somebody reads, silence is nobody’s and nothing is told', async () => {
  await using server = await serve(stream('data: a\n\n'))
  const witness = new Witness()
  const fetch = resilientFetch({ heartbeat: { timeoutMs: 60 }, onLifecycle: witness.onLifecycle })
  const response = await fetch(server.url, STREAM)
  await sleep(200)
  expect(witness.types).toEqual([])
  const { text } = await receive(response, ({ text }) => text !== '')
  expect([text, witness.types]).toEqual(['data: a\n\n', ['dial', 'open', 'close']])
})

test('comments without end are not read ahead either', async () => {
  const flood = `: ${'x'.repeat(1_000)}\n\n`.repeat(20_000)
  await using server = await FaultServer.start({ log: { count: 0 }, script: [[raw(flood), end()]] })
  const response = await resilientFetch()(server.url, STREAM)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  await until(() => (server.requests[0]?.writeBlockedMs ?? 0) > 100, 'the server had to wait', 20_000)
  await reader.cancel()
})

test('one event at a time, with CRLF, arrives one at a time', async () => {
  await using server = await FaultServer.start({
    log: { count: 50 },
    script: [[lineEnding('\r\n'), oneChunkPerEvent(), rest(), end()]],
  })
  const { events } = await receive(await resilientFetch()(server.url, STREAM))
  expect(events).toEqual(
    Array.from({ length: 50 }, (_, at) => ({ id: server.log.idAt(at), data: server.log.at(at).data })),
  )
})
