import { resilientFetch, type SseHttpError } from 'resilient-sse'
import {
  answer,
  cutInside,
  end,
  FaultServer,
  idOnly,
  ignoreId,
  raw,
  replay,
  reset,
  rest,
  type Step,
  send,
  silence,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { FAST, Witness } from '../faults/support.ts'
import { cursors, FAULTS, LOG, log } from './faults.ts'
import { receive, STREAM } from './fetch-body.ts'
import { serve } from './server.ts'

const sent = Array.from({ length: LOG.count }, (_, at) => ({ id: log.idAt(at), data: log.at(at).data }))

test.each(FAULTS)('a GET is resumed, nothing lost and nothing doubled, over $name', async fault => {
  const { script, openTimeoutMs } = fault
  await using server = await FaultServer.start({ log: LOG, script: [...script, [rest(), end()]] })
  const response = await resilientFetch({ ...FAST, ...(openTimeoutMs && { openTimeoutMs }) })(server.url, {
    headers: { ...STREAM.headers, 'x-app': 'mine' },
  })
  const { events, error } = await receive(response)
  expect(error).toBeUndefined()
  expect(events).toEqual(sent)
  expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual(cursors(fault))
  for (const { method, headers } of server.requests) {
    expect(method).toBe('GET')
    expect(headers).toMatchObject({
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'x-app': 'mine',
    })
  }
})

test('after a replay that was dropped, the cursor of the client is where it was', async () => {
  await using server = await FaultServer.start({
    log: LOG,
    script: [
      [send(20), reset()],
      [replay({ overlap: 10 }), send(10), stay()],
    ],
  })
  const response = await resilientFetch(FAST)(server.url, STREAM)
  const { text, events } = await receive(response, ({ text }) => text.endsWith('\n\n:\n\n'))
  expect(events).toEqual(sent.slice(0, 20))
  // No id of an event that was dropped, and a sign of life for a client that listens for one.
  expect([...text.matchAll(/^id/gm)]).toHaveLength(20)
})

test('where a part of a read is dropped, what is left of it comes in its order, with what it asked for', async () => {
  await using server = await FaultServer.start({
    log: { count: 0 },
    script: [
      [raw('id: 1\ndata: a\n\n'), reset()],
      [raw('id: 1\ndata: a\n\nretry: 777\n\nid: 2\n\ndata: b\ndata:\nevent: x\n\nid: 3\n\n'), end()],
    ],
  })
  const { text } = await receive(await resilientFetch(FAST)(server.url, STREAM))
  expect(text).toBe('id: 1\ndata: a\n\nretry: 777\n\nid: 2\n\nevent: x\ndata: b\ndata: \n\nid: 3\n\n')
})

describe('the cursor', () => {
  test('of the request itself is where the stream goes on before any event came', async () => {
    await using server = await FaultServer.start({
      log: LOG,
      script: [
        [send(0), reset()],
        [rest(), end()],
      ],
    })
    const { events } = await receive(
      await resilientFetch(FAST)(server.url, {
        headers: { ...STREAM.headers, 'last-event-id': log.idAt(9) as string },
      }),
    )
    expect(events).toEqual(sent.slice(10))
    expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual([log.idAt(9), log.idAt(9)])
  })

  test('travels as UTF-8, as the client itself sends it', async () => {
    const octets = Buffer.from('é 漢').toString('latin1')
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [
        [send(0), reset()],
        [raw('id: 漢é\n\n'), reset()],
        [raw('data: a\n\n'), end()],
      ],
    })
    const headers = { ...STREAM.headers, 'last-event-id': octets }
    const { text } = await receive(await resilientFetch(FAST)(server.url, { headers }))
    expect(text).toBe('id: 漢é\n\ndata: a\n\n')
    expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual(['é 漢', 'é 漢', '漢é'])
  })

  test('moves with a block of nothing but an id', async () => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [
        [idOnly('7'), reset()],
        [raw('data: a\n\n'), end()],
      ],
    })
    const { text } = await receive(await resilientFetch(FAST)(server.url, STREAM))
    expect(text).toBe('id: 7\n\ndata: a\n\n')
    expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual([undefined, '7'])
  })
})

describe('what a resume is answered with', () => {
  const lost: Step[] = [send(20), reset()]

  test('204 ends the body', async () => {
    await using server = await FaultServer.start({ log: LOG, script: [lost, [answer(204)]] })
    const { events, error } = await receive(await resilientFetch(FAST)(server.url, STREAM))
    expect([events.length, error, server.requests.length]).toEqual([20, undefined, 2])
  })

  test.each([404, 401, 410])('%i is an error of the body, with its status', async status => {
    await using server = await FaultServer.start({ log: LOG, script: [lost, [answer(status)]] })
    const { events, error } = await receive(await resilientFetch(FAST)(server.url, STREAM))
    expect([events.length, server.requests.length]).toEqual([20, 2])
    expect([error?.code, (error as SseHttpError).status]).toEqual(['ERR_SSE_HTTP', status])
  })

  test('a stream that begins anew tells a gap to onLifecycle', async () => {
    await using server = await FaultServer.start({ log: LOG, script: [lost, [ignoreId(), rest(), end()]] })
    const witness = new Witness()
    const response = await resilientFetch({ ...FAST, onLifecycle: witness.onLifecycle })(server.url, STREAM)
    expect((await receive(response)).events).toEqual(sent)
    expect(witness.of('gap').map(({ reason }) => reason)).toEqual(['cursor-ignored'])
    expect(witness.of('open').map(({ resumed }) => resumed)).toEqual([false, true])
  })

  test('a gap ends the body with onGap: throw, after the events before it', async () => {
    await using server = await serve(response =>
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end('id: 1\ndata: a\n\nid: 3\ndata: c\n\n'),
    )
    const fetch = resilientFetch({ resume: { isNext: 'decimal', onGap: 'throw' } })
    const { events, error } = await receive(await fetch(server.url, STREAM))
    expect(events).toEqual([{ id: '1', data: 'a' }])
    expect(error?.code).toBe('ERR_SSE_GAP')
  })
})

describe('what is not dialled again:', () => {
  test('a GET that ended cleanly, with ids', async () => {
    await using server = await FaultServer.start({ log: LOG, script: [[rest(), end()]] })
    const { events, error } = await receive(await resilientFetch(FAST)(server.url, STREAM))
    expect([events, error, server.requests.length]).toEqual([sent, undefined, 1])
  })

  test.each([
    ['a GET without ids', 'GET', 'data: a\n\n', {}],
    ['a GET whose ids were emptied', 'GET', 'id: 7\ndata: a\n\nid:\n\n', {}],
    ['a GET with resume: false', 'GET', 'id: 7\ndata: a\n\n', { resume: false as const }],
    ['a POST, even with ids', 'POST', 'id: 7\ndata: a\n\n', {}],
    ['a PUT, even with ids', 'PUT', 'id: 7\ndata: a\n\n', {}],
  ] as const)('%s that breaks or falls silent; it is a typed error', async (_, method, text, options) => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [
        [raw(text), reset()],
        [raw(text), cutInside('event')],
        [raw(text), silence()],
      ],
    })
    const fetch = resilientFetch({ ...FAST, ...options })
    const codes: unknown[] = []
    for (let index = 0; index < 3; index++) {
      const received = await receive(await fetch(server.url, { method, ...STREAM }))
      expect(received.text).toBe(text)
      expect(received.error?.retryable).toBe(false)
      codes.push(received.error?.code)
    }
    expect(codes).toEqual(['ERR_SSE_NETWORK', 'ERR_SSE_NETWORK', 'ERR_SSE_HEARTBEAT'])
    expect(server.requests).toHaveLength(3)
  })

  test('the error of a POST has no cause, in which a client could find leave to send it again; its history has', async () => {
    await using server = await FaultServer.start({ log: LOG, otherwise: [send(5), reset()] })
    const { error } = await receive(await resilientFetch()(server.url, { method: 'POST', ...STREAM }))
    expect(error).toMatchObject({
      code: 'ERR_SSE_NETWORK',
      message: expect.stringMatching('ECONNRESET|UND_ERR'),
    })
    expect(error).not.toHaveProperty('cause')
    const drop = error?.history.find(({ type }) => type === 'drop') as { error: Error } | undefined
    expect(drop?.error.cause).toBeInstanceOf(Error)
  })
})
