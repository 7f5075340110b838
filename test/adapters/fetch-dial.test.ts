import { Breaker, resilientFetch } from 'resilient-sse'
import { answer, comment, end, eventLog, FaultServer, noHeaders, reset, rest } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { FAST, sleep, until } from '../faults/support.ts'
import { receive, STREAM } from './fetch-body.ts'
import { finite, serve } from './server.ts'

const LOG = { count: 60, ids: 'opaque', seed: 5 } as const
const log = eventLog(LOG)
const sent = Array.from({ length: LOG.count }, (_, at) => ({ id: log.idAt(at), data: log.at(at).data }))

describe('before there is a stream', () => {
  test('a GET that accepts one is given up after openTimeoutMs, once', async () => {
    await using server = await FaultServer.start({ log: LOG, otherwise: [noHeaders()] })
    const dial = resilientFetch({ openTimeoutMs: 150 })(server.url, STREAM)
    await expect(dial).rejects.toMatchObject({ code: 'ERR_SSE_OPEN_TIMEOUT', retryable: true })
    await server.waitForClose(0)
    expect(server.requests).toHaveLength(1)
  })

  test.each([
    ['POST', 'text/event-stream'],
    ['POST', 'application/json'],
    ['GET', 'application/json'],
  ])('a %s that accepts %s may wait for its first byte as long as it likes', async (method, accept) => {
    await using server = await serve(response => setTimeout(() => finite('data: a\n\n')(response), 600))
    const fetch = resilientFetch({ openTimeoutMs: 100, heartbeat: { timeoutMs: 100 } })
    const response = await fetch(server.url, { method, headers: { accept } })
    expect(await response.text()).toBe('data: a\n\n')
    expect(server.requests).toHaveLength(1)
  })

  test('errors are those of a plain fetch, and nothing is dialled again', async () => {
    await using server = await FaultServer.start({ log: LOG, otherwise: [reset()] })
    const fetch = resilientFetch(FAST)
    for (const method of ['GET', 'POST'])
      await expect(fetch(server.url, { method, ...STREAM })).rejects.toThrow(TypeError)
    expect(server.requests).toHaveLength(2)
  })
})

describe('a shared breaker', () => {
  const options = { threshold: 2, cooldownMs: 60_000 }

  test('opens on dials that fail, refuses GETs of streams then, and no other request', async () => {
    await using server = await FaultServer.start({ log: LOG, otherwise: [answer(503)] })
    const breaker = new Breaker(options)
    const fetch = resilientFetch({ breaker })
    for (let dial = 0; dial < 2; dial++) expect((await fetch(server.url, STREAM)).status).toBe(503)
    await expect(fetch(server.url, STREAM)).rejects.toMatchObject({
      code: 'ERR_SSE_CIRCUIT_OPEN',
      failures: 2,
    })
    expect((await fetch(server.url, { method: 'POST', ...STREAM })).status).toBe(503)
    expect((await fetch(server.url)).status).toBe(503)
    expect(server.requests).toHaveLength(4)
  })

  test('is not moved by an answer that speaks of one request alone, nor by the caller’s own abort', async () => {
    await using server = await FaultServer.start({ log: LOG, script: [[answer(404)], [noHeaders()]] })
    const breaker = new Breaker({ threshold: 1 })
    const fetch = resilientFetch({ breaker })
    await fetch(server.url, STREAM)
    const abort = new AbortController()
    const dial = fetch(server.url, { ...STREAM, signal: abort.signal })
    await server.waitForRequests(2)
    abort.abort()
    await expect(dial).rejects.toThrow()
    expect([breaker.state, breaker.failures]).toEqual(['closed', 0])
  })

  test('is closed by a stream that proves healthy', async () => {
    await using server = await FaultServer.start({ log: LOG, script: [[answer(503)], [rest(), end()]] })
    const breaker = new Breaker({ threshold: 1, cooldownMs: 1 })
    const fetch = resilientFetch({ breaker })
    await fetch(server.url, STREAM)
    expect(breaker.state).toBe('open')
    await sleep(20)
    const response = await fetch(server.url, STREAM)
    expect(breaker.state).toBe('half-open')
    expect((await receive(response)).events).toEqual(sent)
    expect(breaker.state).toBe('closed')
  })

  test.each(['unread', 'read'])('lets the next one probe when its probe is cancelled %s', async how => {
    await using server = await FaultServer.start({
      log: LOG,
      script: [[answer(503)]],
      otherwise: [comment()],
    })
    const breaker = new Breaker({ threshold: 1, cooldownMs: 200 })
    const fetch = resilientFetch({ breaker })
    await fetch(server.url, STREAM)
    await until(() => breaker.retryInMs(performance.now()) === 0, 'a probe is due')
    const { body } = await fetch(server.url, STREAM)
    expect(breaker.state).toBe('half-open')
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    if (how === 'read') await reader.read()
    await reader.cancel()
    expect([breaker.state, breaker.retryInMs(performance.now())]).toEqual(['open', 0])
  })

  test('opens again at once when the stream that was its probe breaks', async () => {
    await using server = await FaultServer.start({
      log: LOG,
      script: [[answer(503)], [comment(), reset()]],
      otherwise: [comment()],
    })
    const breaker = new Breaker({ threshold: 1, cooldownMs: 200 })
    const fetch = resilientFetch({ breaker })
    await fetch(server.url, STREAM)
    await until(() => breaker.retryInMs(performance.now()) === 0, 'a probe is due')
    const states: string[] = []
    breaker.watch(() => states.push(breaker.state))
    const headers = { ...STREAM.headers, 'last-event-id': String(log.idAt(3)) }
    const received = receive(await fetch(server.url, { headers }), () => states.length > 2)
    await until(() => states.length > 1, 'the probe was judged')
    expect([states.slice(0, 2), breaker.failures]).toEqual([['half-open', 'open'], 2])
    await received
  })

  test('does not hold up a stream that was answered before it opened', async () => {
    await using server = await FaultServer.start({ log: LOG, script: [[rest(), end()], [answer(503)]] })
    const breaker = new Breaker({ threshold: 1, cooldownMs: 60_000 })
    const fetch = resilientFetch({ breaker })
    const response = await fetch(server.url, STREAM)
    await fetch(server.url, STREAM)
    expect(breaker.state).toBe('open')
    expect(await receive(response)).toMatchObject({ events: sent, error: undefined })
  })
})
