import { spawnSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { keepaliveFetch, resilientFetch } from 'resilient-sse'
import { answer, FaultServer, noHeaders, reset, send } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { streamSilenceMs } from '../../src/adapters/fetch/options.ts'
import { plainFetch } from '../../src/plain-fetch.ts'
import { FAST, sleep, until } from '../faults/support.ts'
import { receive, STREAM } from './fetch-body.ts'
import { finite, serve, stream } from './server.ts'

const REASON = new Error('enough')

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

describe('a signal ends the request', () => {
  test('before it is sent', async () => {
    await using server = await serve(stream('data: a\n\n'))
    const fetch = resilientFetch()
    for (const method of ['GET', 'POST'])
      await expect(fetch(server.url, { method, ...STREAM, signal: AbortSignal.abort(REASON) })).rejects.toBe(
        REASON,
      )
    expect(server.requests).toHaveLength(0)
  })

  test.each(['GET', 'POST'])('a %s, while it waits for headers', async method => {
    await using server = await FaultServer.start({ otherwise: [noHeaders()] })
    const abort = new AbortController()
    const dial = resilientFetch()(server.url, { method, ...STREAM, signal: abort.signal })
    await server.waitForRequests(1)
    abort.abort(REASON)
    await expect(dial).rejects.toBe(REASON)
    await until(() => server.openSockets === 0, 'the socket was free')
    expect(server.requests).toHaveLength(1)
  })

  test.each([
    ['GET', true],
    ['GET', false],
    ['POST', true],
    ['POST', false],
  ] as const)('a %s, while its body is read (a read is pending: %s)', async (method, isPending) => {
    await using server = await serve(stream('id: 1\ndata: a\n\n'))
    const abort = new AbortController()
    const response = await resilientFetch(FAST)(server.url, { method, ...STREAM, signal: abort.signal })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    const pending = isPending ? reader.read() : undefined
    pending?.catch(() => {})
    abort.abort(REASON)
    await expect(pending ?? reader.read()).rejects.toBe(REASON)
    await until(() => server.sockets() === 0, 'the socket was free')
    expect(server.requests).toHaveLength(1)
  })

  test('while it waits to go on', async () => {
    await using server = await FaultServer.start({
      script: [[send(5), reset()]],
      otherwise: [answer(503, { headers: { 'retry-after': '3600' } })],
    })
    const abort = new AbortController()
    const response = await resilientFetch(FAST)(server.url, { ...STREAM, signal: abort.signal })
    const received = receive(response)
    await server.waitForRequests(2)
    await sleep(20)
    abort.abort(REASON)
    expect((await received).error).toBe(REASON)
    expect(server.requests).toHaveLength(2)
  })

  test('that is used for many requests, without a warning', async () => {
    const warnings: Error[] = []
    const note = (warning: Error) => warnings.push(warning)
    process.on('warning', note)
    await using server = await serve(stream('data: a\n\n'))
    const { signal } = new AbortController()
    const fetch = resilientFetch()
    for (let call = 0; call < 30; call++) {
      const response = await fetch(server.url, { method: call % 2 ? 'GET' : 'POST', ...STREAM, signal })
      const reader = response.body?.getReader()
      await reader?.read()
      await reader?.cancel()
    }
    await sleep(10)
    process.off('warning', note)
    expect(warnings).toEqual([])
  })

  test.each([
    ['resilientFetch', resilientFetch()],
    ['keepaliveFetch', keepaliveFetch()],
  ])('and holds nothing of a stream of %s that is over', async (_, fetch) => {
    await using server = await serve(finite('data: a\n\n'))
    const { signal } = new AbortController()
    // A signal that is made from it is kept alive by its listeners.
    const { any } = AbortSignal
    const made: WeakRef<AbortSignal>[] = []
    AbortSignal.any = signals => {
      const composite = any.call(AbortSignal, signals)
      made.push(new WeakRef(composite))
      return composite
    }
    try {
      for (let call = 0; call < 20; call++)
        expect(await (await fetch(server.url, { ...STREAM, signal })).text()).toBe('data: a\n\n')
    } finally {
      AbortSignal.any = any
    }
    await until(() => {
      collectGarbage()
      return getEventListeners(signal, 'abort').length + made.filter(ref => ref.deref()).length <= 2
    }, 'all but the last were let go')
  })
})

test('cancelling the body ends the wait for another connection', async () => {
  await using server = await FaultServer.start({
    script: [[send(5), reset()]],
    otherwise: [answer(503)],
  })
  const response = await resilientFetch({ backoff: { baseMs: 30, jitter: 0 } })(server.url, STREAM)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  while (server.requests.length < 2) {
    reader.read().catch(() => {})
    await sleep(2)
  }
  await reader.cancel()
  const { length } = server.requests
  await sleep(200)
  expect(server.requests.length - length).toBeLessThanOrEqual(1)
  expect(server.openSockets).toBe(0)
})

describe('silence in a body', () => {
  test('that may be a stream is judged by layer 2, whose limit undici’s own follows', () => {
    const heartbeat = (timeoutMs: 'auto' | number | (() => number)) => ({
      timeoutMs,
      eventTimeoutMs: 0,
      probe: undefined,
    })
    expect(streamSilenceMs(heartbeat('auto'))).toBe(300_000)
    expect(streamSilenceMs(heartbeat(10_000))).toBe(300_000)
    expect(streamSilenceMs(heartbeat(900_000))).toBe(1_800_000)
    expect(streamSilenceMs(heartbeat(0))).toBe(0)
    expect(streamSilenceMs(heartbeat(() => 1_000_000))).toBe(0)
    expect(streamSilenceMs(false)).toBe(0)
  })

  test('is cut at that limit only where the request does not say that it takes a stream', async () => {
    await using server = await serve(stream('data: a\n\n'))
    const fetch = plainFetch(false, undefined, { bodyTimeoutMs: 400 })
    const cut = await fetch(server.url, { method: 'POST' })
    const streams = [await fetch(server.url, STREAM), await fetch(server.url, { method: 'POST', ...STREAM })]
    let ended = 0
    for (const response of streams)
      response
        .text()
        .finally(() => ended++)
        .catch(() => {})
    await expect(cut.text()).rejects.toMatchObject({ cause: { code: 'UND_ERR_BODY_TIMEOUT' } })
    await sleep(1_200)
    expect(ended).toBe(0)
  })
})

describe('options that cannot take effect are refused by their names:', () => {
  test.each([
    ['method', { method: 'POST' }],
    ['headers', { headers: {} }],
    ['body', { body: 'x' }],
    ['signal', { signal: new AbortController().signal }],
    ['maxConnectionMs', { maxConnectionMs: 60_000 }],
    ['reconnectOnEnd', { reconnectOnEnd: true }],
    ['isRetryable', { isRetryable: () => true }],
    ['onComment', { onComment: () => {} }],
    ['resume.store', { resume: { store: { load() {}, save() {} } } }],
    ['resume.lastEventId', { resume: { lastEventId: '1' } }],
    ['resume.ack', { resume: { ack: 'manual' } }],
    ['tcp', { fetch: globalThis.fetch, tcp: {} }],
    ['options.timeout', { timeout: 1 }],
    ['options.keepAliveDelayMs', { keepAliveDelayMs: 1_000 }],
    ['heartbeat.timeoutMs', { heartbeat: { timeoutMs: 1 } }],
  ])('%s', (name, options) => {
    const make = () => resilientFetch(options as never)
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_SSE_OPTION' }))
    expect(make).toThrow(name)
  })

  test.each([
    ['options.stream', { stream: 'pooled' }],
    ['streams', { streams: 'kept' }],
  ])('%s of keepaliveFetch', (name, options) => {
    const make = () => keepaliveFetch({}, options as never)
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_SSE_OPTION' }))
    expect(make).toThrow(name)
  })

  test('undefined is no option', () => {
    expect(() => keepaliveFetch(undefined, { streams: undefined })).not.toThrow()
    expect(() => resilientFetch({ signal: undefined, resume: { store: undefined } } as never)).not.toThrow()
  })
})

// What only a process of its own can show.
const built = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
if (!existsSync(built)) throw new Error('dist/index.js is missing: run npm run build first')

const PRELUDE = `
import { createServer } from 'node:http'
import { resilientFetch } from ${JSON.stringify(pathToFileURL(built).href)}
const server = createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\\ndata: 1\\n\\n')
  if (request.url === '/finite') response.end()
}).listen(0, '127.0.0.1')
await new Promise(resolve => server.once('listening', resolve))
const url = 'http://127.0.0.1:' + server.address().port
// The server alone keeps nobody.
server.unref()
server.on('connection', socket => socket.unref())
const fetch = resilientFetch({ heartbeat: { timeoutMs: 50_000 } })
const accept = { headers: { accept: 'text/event-stream' } }
`

test.each([
  [
    'a stream was read to its end',
    `console.log((await (await fetch(url + '/finite', accept)).text()).length)`,
  ],
  [
    'the answer to a POST was',
    `console.log((await (await fetch(url + '/finite', { method: 'POST' })).text()).length)`,
  ],
  [
    'a body was cancelled',
    `for (const method of ['GET', 'POST']) await (await fetch(url, { method, ...accept })).body.cancel()
     console.log(15)`,
  ],
  [
    'a request was aborted',
    `const abort = new AbortController()
     const response = await fetch(url, { ...accept, signal: abort.signal })
     const reading = response.text().catch(() => console.log(15))
     setTimeout(() => abort.abort(), 50)
     await reading`,
  ],
])('nothing keeps the process alive after %s', (_, script) => {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', PRELUDE + script],
    { encoding: 'utf8', timeout: 25_000 },
  )
  expect({ stdout, stderr, status }).toEqual({ stdout: '15\n', stderr: '', status: 0 })
})
