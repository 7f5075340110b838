import { readFileSync } from 'node:fs'
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { ResilientSse, type SseError, type SseHeartbeatError } from 'resilient-sse'
import {
  closeDelimited,
  cut,
  FaultServer,
  garbage,
  headers,
  headersOnly,
  heartbeats,
  reset,
  type Step,
  send,
  silence,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { expectDials, FAST, failure, idsOf, sleep, take, Witness } from './support.ts'

const pem = (name: string) => readFileSync(new URL(`../fixtures/${name}.pem`, import.meta.url), 'utf8')
const TLS = { key: pem('self-signed.key'), cert: pem('self-signed.cert') }

/**
 * The innermost cause's code: what an application would look at in its log. Some of undici's have none, and a reset that
 * arrives together with data looks like a FIN.
 */
function codeOf(error: SseError): string | undefined {
  let link: unknown = error
  let code: string | undefined
  while (link instanceof Error) {
    if ('code' in link && typeof link.code === 'string' && !link.code.startsWith('ERR_SSE')) code = link.code
    link = link.cause
  }
  return code
}

/** A reset that is late, because the machine is busy, is no silence. */
const PATIENT = { ...FAST, heartbeat: { timeoutMs: 10_000 } }

describe('a failure is known by its code, is told with its cause, and is followed by one dial', () => {
  const afterOpen: [string, Step[], string[]][] = [
    ['a reset in the middle of the body', [send(2), reset()], ['ECONNRESET', 'UND_ERR_SOCKET', 'none']],
    ['a FIN in the middle of a chunked body', [send(2), cut()], ['UND_ERR_SOCKET', 'none']],
    ['a FIN of a body without framing', [closeDelimited(), send(2), cut()], ['none']],
    [
      'a FIN of a chunked body with Connection: close',
      [headers({ connection: 'close' }), send(2), cut()],
      ['none', 'UND_ERR_SOCKET'],
    ],
  ]
  test.each(afterOpen)('%s', async (_, script, codes) => {
    await using server = await FaultServer.start({ log: { count: 4 }, script: [script] })
    const witness = new Witness()
    await take(new ResilientSse(server.url, { ...PATIENT, onLifecycle: witness.onLifecycle }), 4)
    const [drop] = witness.of('drop')
    expect(drop).toMatchObject({
      reason: 'network',
      opened: true,
      error: { code: 'ERR_SSE_NETWORK', retryable: true },
    })
    expect(codes).toContain(codeOf(drop?.error as SseError) ?? 'none')
    expect(witness.of('drop')).toHaveLength(1)
    expectDials(server.requests, [undefined, server.log.idAt(1)])
  })

  const beforeHeaders: [string, Step[], string[]][] = [
    ['a reset before the headers', [reset()], ['ECONNRESET', 'UND_ERR_SOCKET']],
    ['a FIN before the headers', [cut()], ['UND_ERR_SOCKET']],
    ['an answer that is not HTTP', [garbage()], ['none', 'HPE_INVALID_CONSTANT']],
  ]
  test.each(beforeHeaders)('%s', async (_, script, codes) => {
    await using server = await FaultServer.start({ log: { count: 1 }, script: [script, script] })
    const witness = new Witness()
    await take(new ResilientSse(server.url, { ...PATIENT, onLifecycle: witness.onLifecycle }), 1)
    const drops = witness.of('drop')
    expect(drops).toHaveLength(2)
    for (const drop of drops) {
      expect(drop).toMatchObject({
        reason: 'network',
        opened: false,
        error: { code: 'ERR_SSE_NETWORK', retryable: true },
      })
      expect(codes).toContain(codeOf(drop.error) ?? 'none')
    }
    expect(witness.of('dial').map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expectDials(server.requests, [undefined, undefined, undefined])
  })

  test('a port that refuses, until it does not', async () => {
    await using server = await FaultServer.start({ log: { count: 1 }, refuseFirstMs: 60 })
    const witness = new Witness()
    await take(
      new ResilientSse(server.url, { ...PATIENT, breaker: false, onLifecycle: witness.onLifecycle }),
      1,
    )
    expect(witness.of('drop').length).toBeGreaterThan(0)
    for (const { error } of witness.of('drop')) expect(codeOf(error)).toBe('ECONNREFUSED')
    expect(witness.of('dial')).toHaveLength(witness.of('drop').length + 1)
    expectDials(server.requests, [undefined])
  })

  test('a host name that does not exist ends in SseCircuitOpenError, with the last cause in it', async () => {
    const witness = new Witness()
    const { error } = await failure(
      new ResilientSse('http://no-such-host.invalid/events', {
        ...PATIENT,
        onLifecycle: witness.onLifecycle,
      }),
    )
    expect(error).toMatchObject({ name: 'SseCircuitOpenError', code: 'ERR_SSE_CIRCUIT_OPEN', failures: 6 })
    expect(codeOf(error)).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/)
    expect(error.history.at(-1)?.type).toBe('circuit')
    expect(witness.of('dial').map(({ lastEventId }) => lastEventId)).toEqual(Array(6).fill(undefined))
  })
})

describe('silence', () => {
  test('on a half-open connection is noticed, and the redial carries the id', async () => {
    await using server = await FaultServer.start({ log: { count: 2 }, script: [[send(1), silence()]] })
    const witness = new Witness()
    const startedAt = performance.now()
    await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 2)
    expect(performance.now() - startedAt).toBeLessThan(3_000)
    const [drop] = witness.of('drop')
    expect(drop).toMatchObject({ reason: 'silence', error: { code: 'ERR_SSE_HEARTBEAT', retryable: true } })
    expect((drop?.error as SseHeartbeatError | undefined)?.silentMs).toBeGreaterThanOrEqual(300)
    expect(server.requests[0]?.closedBy).toBe('client')
    expectDials(server.requests, [undefined, server.log.idAt(0)])
  })

  test('filled with comments is none: they count as bytes, without any event', async () => {
    await using server = await FaultServer.start({
      log: { count: 1 },
      otherwise: [heartbeats({ everyMs: 80, count: 15 }), send(1), stay()],
    })
    const stream = new ResilientSse(server.url, FAST)
    expect(await take(stream, 1)).toHaveLength(1)
    expect(stream.stats().heartbeat).toMatchObject({ comments: 15, deaths: 0 })
    expectDials(server.requests, [undefined])
  })

  test('of the data alone is noticed with eventTimeoutMs, although comments go on', async () => {
    await using server = await FaultServer.start({
      log: { count: 2 },
      script: [[heartbeats({ everyMs: 40 }), send(1), stay()]],
    })
    const witness = new Witness()
    const stream = new ResilientSse(server.url, {
      ...FAST,
      heartbeat: { timeoutMs: 5_000, eventTimeoutMs: 300 },
      onLifecycle: witness.onLifecycle,
    })
    await take(stream, 2)
    expect(witness.of('drop')).toMatchObject([
      { reason: 'silence', error: { message: expect.stringMatching(/only comments/) } },
    ])
    expectDials(server.requests, [undefined, server.log.idAt(0)])
  })

  test.each([
    ['timeoutMs: 0', { timeoutMs: 0 }],
    ['false', false],
  ] as const)('is never noticed with heartbeat: %s, which means off', async (_, heartbeat) => {
    await using server = await FaultServer.start({ log: { count: 2 }, script: [[send(1), silence()]] })
    const stream = new ResilientSse(server.url, { ...FAST, heartbeat })
    const loop = take(stream, 2)
    await sleep(500)
    expect(stream.state).toBe('open')
    expect(stream.stats().heartbeat).toMatchObject({ deaths: 0, timeoutMs: 0 })
    await stream.close()
    expect(await loop).toHaveLength(1)
    expectDials(server.requests, [undefined])
  })

  test('from the first byte on names a proxy that may be buffering, and compression was not asked for', async () => {
    await using server = await FaultServer.start({ log: { count: 1 }, script: [[headersOnly()]] })
    const witness = new Witness()
    await take(new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle }), 1)
    expect(witness.of('drop')[0]?.error.message).toMatch(/first byte .* proxy .* buffering/)
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity')
    expectDials(server.requests, [undefined, undefined])
  })
})

describe('a certificate that is refused', () => {
  test('is final before the first open, unless isRetryable says otherwise', async () => {
    await using server = await FaultServer.start({ tls: TLS })
    const { error } = await failure(new ResilientSse(server.url, FAST))
    expect(error).toMatchObject({ code: 'ERR_SSE_CERTIFICATE', retryable: false })
    expect(codeOf(error)).toBe('DEPTH_ZERO_SELF_SIGNED_CERT')
    expect(server.connections).toBe(1)

    const witness = new Witness()
    const stubborn = new ResilientSse(server.url, {
      ...FAST,
      isRetryable: (_, { failures }) => failures < 3,
      onLifecycle: witness.onLifecycle,
    })
    expect((await failure(stubborn)).error.code).toBe('ERR_SSE_CERTIFICATE')
    expect(witness.of('dial').map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expectDials(server.requests, [])
  })
})

describe('HTTP/2', () => {
  /** One event a session and stream, then what `last` does. */
  async function http2(last: (stream: ServerHttp2Stream) => void) {
    const heads: { lastEventId: unknown; accept: unknown; cacheControl: unknown }[] = []
    const sessions = new Set<ServerHttp2Session>()
    const server: Http2SecureServer = createSecureServer(TLS)
    server.on('session', session => sessions.add(session.on('error', () => {})))
    server.on('stream', (stream, head) => {
      stream.on('error', () => {})
      heads.push({
        lastEventId: head['last-event-id'],
        accept: head.accept,
        cacheControl: head['cache-control'],
      })
      stream.respond({ ':status': 200, 'content-type': 'text/event-stream' })
      stream.write(`id: ${heads.length}\ndata: event ${heads.length}\n\n`)
      setTimeout(() => last(stream), 30)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return {
      heads,
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
      [Symbol.asyncDispose]: () =>
        new Promise<void>(resolve => {
          server.close(() => resolve())
          for (const session of sessions) session.destroy()
        }),
    }
  }

  test.each([
    [
      'GOAWAY and a clean end',
      (stream: ServerHttp2Stream) => {
        stream.session?.goaway(0)
        stream.end()
      },
    ],
    ['a stream that is reset', (stream: ServerHttp2Stream) => stream.close(8)],
    ['a session that is destroyed', (stream: ServerHttp2Stream) => stream.session?.destroy()],
  ])('%s is followed by a new dial that carries the id', async (_, last) => {
    await using server = await http2(last)
    const stream = new ResilientSse(server.url, {
      ...FAST,
      tcp: { allowH2: true, connect: { ca: TLS.cert } },
    })
    const events = await take(stream, 3)
    expect(idsOf(events)).toEqual(['1', '2', '3'])
    const head = { accept: 'text/event-stream', cacheControl: 'no-cache' }
    expect(server.heads).toEqual([undefined, '1', '2'].map(lastEventId => ({ ...head, lastEventId })))
  })
})
