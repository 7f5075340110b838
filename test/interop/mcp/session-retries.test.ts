import { describe, expect, onTestFinished, test } from 'vitest'
import { type Line, sleep, until } from './clients.ts'
import { type Answer, type ForgetfulScript, ForgetfulServer, json, refuse } from './forgetful-server.ts'
import { connectHost, type HostOptions } from './transports.ts'

// A lost session that cannot be replaced at once, or not at all; and servers that cannot be reached.

const LINES: Line[] = ['v1', 'v2']
const THRICE = { backoff: { baseMs: 20, maxMs: 50, maxAttempts: 3 } }

async function start(line: Line, script: ForgetfulScript = {}, how: HostOptions = {}) {
  const server = await ForgetfulServer.start(script)
  onTestFinished(() => server[Symbol.asyncDispose]())
  const host = await connectHost(line, server.url, how)
  await until(() => server.streams.size === 1)
  return { server, host }
}

/** Each `initialize` but the first is answered by one of these; the last one repeats. */
function initializing(...answers: Answer[]): Answer {
  let count = -1
  return (asked, response, server) => {
    if (asked.what !== 'initialize' || ++count === 0) return false
    return answers[Math.min(count, answers.length) - 1]?.(asked, response, server) ?? false
  }
}

const status =
  (code: number): Answer =>
  (_, response) =>
    refuse(response, code)

describe.each(LINES)('%s: a session that cannot be replaced', line => {
  test('at once is asked for again while the server says 500, 502, 503 or breaks the connection', async () => {
    const drop: Answer = (_, response) => {
      response.socket?.destroy()
      return true
    }
    const { server, host } = await start(line, {
      atFirst: initializing(status(500), status(502), status(503), drop, () => false),
    })
    server.forget()
    expect(await host.call(1)).toBe('done 1')
    expect(server.of('initialize')).toHaveLength(6)
    expect(server.done).toEqual([1])
    expect(host.sessions.map(({ type }) => type)).toEqual(['lost', 'initialized'])
    const waits = host.lifecycle.filter(
      ({ event, stream }) => event.type === 'wait' && stream.kind === 'session',
    )
    expect(waits).toHaveLength(4)
    expect(host.errors).toEqual([])
  })

  test.each<[string, Answer, number, object]>([
    ['500 each time', status(500), 3, { code: 'ERR_SSE_HTTP', status: 500 }],
    ['400', status(400), 1, { code: 'ERR_SSE_HTTP', status: 400 }],
    ['404', status(404), 1, { code: 'ERR_SSE_HTTP', status: 404 }],
    [
      'an error of JSON-RPC',
      ({ id }, response) => {
        json(response, { id, error: { code: -32_602, message: 'no more clients' } })
        return true
      },
      1,
      { code: 'ERR_SSE_REQUEST' },
    ],
    [
      'a version that the host does not speak',
      ({ id }, response) => {
        const result = {
          protocolVersion: '2031-01-01',
          capabilities: {},
          serverInfo: { name: 'new', version: '9' },
        }
        json(response, { id, result }, { 'mcp-session-id': 'new' })
        return true
      },
      1,
      { code: 'ERR_SSE_REQUEST' },
    ],
  ])('settles what waits: %s', async (_, answer, tries, data) => {
    const { server, host } = await start(line, { atFirst: initializing(answer) }, { resilience: THRICE })
    server.forget()
    const outcomes = await Promise.allSettled([host.call(1), host.call(2)])
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: -32_000, data: { sent: 'no', reason: 'session-lost', ...data } },
      })
    expect(server.of('initialize')).toHaveLength(1 + tries)
    expect(host.sessions).toMatchObject([{ type: 'lost' }, { type: 'failed', error: data }])
    expect(host.errors).toEqual([])
    // The next call tries anew, and once the server is well, all is.
    server.script.atFirst = () => false
    expect(await host.call(3)).toBe('done 3')
    expect(server.done).toEqual([3])
  })

  test('for want of credentials throws what the SDK has to say of it', async () => {
    let isIn = true
    const { server, host } = await start(
      line,
      { atFirst: ({ what }, response) => what === 'initialize' && !isIn && refuse(response, 401) },
      { options: { authProvider: { token: async () => 'old', tokens: () => undefined } } },
    )
    server.forget()
    isIn = false
    await expect(host.call(1)).rejects.toSatisfy(error => !(error as { data?: unknown }).data)
    expect(host.sessions.at(-1)).toMatchObject({ type: 'failed' })
    isIn = true
    expect(await host.call(2)).toBe('done 2')
  })

  test('because each is lost at once ends in a clear error after a few tries, and in no loop', async () => {
    const { server, host } = await start(line, {}, { resilience: THRICE })
    // No session but the first is ever known.
    server.script.atFirst = ({ what }, response, { of }) =>
      what !== 'initialize' && of.call(server, 'initialize').length > 1 && refuse(response, 404)
    server.forget()
    await expect(host.call(1)).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('the server has lost the session'),
      data: { sent: 'no', reason: 'session-lost' },
    })
    await sleep(500)
    expect(server.of('initialize').length).toBeLessThanOrEqual(5)
    const settled = server.asked.length
    await sleep(500)
    expect(server.asked).toHaveLength(settled)
    expect(host.errors).toEqual([])
  })

  test('because calls are refused each time, although sessions last, is given up for that call', async () => {
    const { server, host } = await start(
      line,
      { inSession: ({ what }, response) => what === 'tools/call' && refuse(response, 404) },
      { resilience: THRICE },
    )
    await expect(host.call(1)).rejects.toMatchObject({
      code: -32_000,
      data: { sent: 'no', reason: 'session-lost' },
    })
    expect(server.of('tools/call').length).toBeLessThanOrEqual(4)
    // For the standalone stream there is another session.
    await until(() => server.of('initialize').length === 1 + server.of('tools/call').length)
    await sleep(300)
    expect(server.of('initialize')).toHaveLength(1 + server.of('tools/call').length)
  })

  test('because the transport is closed meanwhile leaves nothing behind', async () => {
    const { server, host } = await start(line, { atFirst: initializing(() => true) })
    server.forget()
    const call = host.call(1)
    call.catch(() => {})
    await until(() => server.of('initialize').length === 2)
    await host.close()
    await expect(call).rejects.toThrow(/closed/i)
    const settled = server.asked.length
    await sleep(300)
    expect(server.asked).toHaveLength(settled)
    expect(server.streams.size).toBe(0)
    expect(host.errors).toEqual([])
  })

  test('while a call is cancelled: it is not sent again, nor is its cancellation', async () => {
    const held: (() => void)[] = []
    const hold: Answer = ({ id }, response) => {
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'f', version: '1' },
      }
      held.push(() => json(response, { id, result }, { 'mcp-session-id': 'none' }))
      return true
    }
    const { server, host } = await start(line, { atFirst: initializing(hold) })
    server.forget()
    const cancel = new AbortController()
    const call = host.call(1, {}, { signal: cancel.signal })
    call.catch(() => {})
    await until(() => held.length === 1)
    cancel.abort(new Error('no longer wanted'))
    await expect(call).rejects.toThrow(/no longer wanted/)
    server.script.unknown = response => void response.writeHead(202).end()
    held[0]?.()
    await until(() => server.of('notifications/initialized').length === 2)
    await sleep(200)
    expect(server.of('tools/call')).toHaveLength(1)
    expect(server.of('notifications/cancelled')).toEqual([])
    expect(host.errors).toEqual([])
  })
})

describe.each(LINES)('%s: a server that cannot be reached', line => {
  test('is waited for: the call is sent when it is back, once', async () => {
    const { server, host } = await start(line)
    await server.stop()
    const call = host.call(1)
    const waits = () =>
      host.lifecycle.filter(({ event, stream }) => event.type === 'wait' && stream.kind === 'request')
    await until(() => waits().length >= 2)
    expect(waits()[0]?.stream).toMatchObject({ methods: ['tools/call'], sessionId: 's1' })
    await server.listen()
    expect(await call).toBe('done 1')
    // It had kept the session.
    expect(server.of('initialize')).toHaveLength(1)
    expect(server.done).toEqual([1])
    expect(host.errors).toEqual([])
  })

  test('and has lost the session meanwhile is initialized once for all who waited', async () => {
    const { server, host } = await start(line)
    await server.stop()
    server.forget()
    const calls = [1, 2, 3].map(number => host.call(number))
    await until(() => host.lifecycle.filter(({ event }) => event.type === 'wait').length >= 3)
    await server.listen()
    expect(await Promise.all(calls)).toEqual(['done 1', 'done 2', 'done 3'])
    expect(server.of('initialize')).toHaveLength(2)
    expect(server.done).toHaveLength(3)
    expect(host.errors).toEqual([])
  })

  test('is given up after a few tries: the call is told that it never left', async () => {
    const { server, host } = await start(line, {}, { resilience: THRICE })
    await server.stop()
    await expect(host.call(1)).rejects.toMatchObject({
      code: -32_000,
      data: { sent: 'no', reason: 'unreachable', code: 'ERR_SSE_NETWORK' },
    })
    await server.listen()
    expect(await host.call(2)).toBe('done 2')
    expect(server.done).toEqual([2])
    expect(host.errors).toEqual([])
  })

  test('is not waited for by a call that is cancelled', async () => {
    const { server, host } = await start(line)
    await server.stop()
    const cancel = new AbortController()
    const call = host.call(1, {}, { signal: cancel.signal })
    call.catch(() => {})
    await until(() => host.lifecycle.some(({ event }) => event.type === 'wait'))
    cancel.abort(new Error('no longer wanted'))
    await expect(call).rejects.toThrow(/no longer wanted/)
    await server.listen()
    await sleep(300)
    expect(server.of('tools/call')).toEqual([])
    expect(server.of('notifications/cancelled')).toEqual([])
  })

  test('is not waited for by a transport that is closed', async () => {
    const slowly = { backoff: { baseMs: 60_000, maxMs: 60_000, jitter: 0 } as const }
    const { server, host } = await start(line, {}, { resilience: slowly })
    await server.stop()
    const call = host.call(1)
    call.catch(() => {})
    const waits = () => host.lifecycle.filter(({ event }) => event.type === 'wait')
    await until(() => waits().some(({ stream }) => stream.kind === 'request'))
    const sent = host.transport.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' } as never)
    sent.catch(() => {})
    await until(() => waits().filter(({ stream }) => stream.kind === 'request').length === 2)
    await host.close()
    await expect(call).rejects.toThrow(/closed/i)
    await expect(sent).rejects.toMatchObject({ code: 'ERR_SSE_CLOSED' })
  })

  test('for a moment is sent the answer to its own request all the same', async () => {
    let answer = () => {}
    const elicit = () => new Promise<void>(resolve => (answer = resolve))
    const { server, host } = await start(line, {}, { elicit })
    const requestedSchema = { type: 'object', properties: {} }
    server.say({
      id: 5,
      method: 'elicitation/create',
      params: { mode: 'form', message: '?', requestedSchema },
    })
    await until(() => server.streams.size === 1)
    await sleep(100)
    await server.stop()
    answer()
    await until(() =>
      host.lifecycle.some(
        ({ event, stream }) => event.type === 'wait' && stream.ids.length === 0 && stream.kind === 'request',
      ),
    )
    await server.listen()
    await until(() => server.of('answer').length === 1)
    expect(server.of('answer')[0]).toMatchObject({ id: 5, session: 's1' })
  })

  test('fails the SDK alone at once, which tells it as an error', async () => {
    const { server, host } = await start(line, {}, { bare: true })
    await server.stop()
    await expect(host.call(1)).rejects.toThrow(/fetch failed/)
    expect(host.errors).not.toEqual([])
  })

  test('when the host connects first is an error at once: an address may be wrong', async () => {
    const server = await ForgetfulServer.start()
    const { url } = server
    await server.stop()
    await expect(connectHost(line, url)).rejects.toThrow(/fetch failed/)
  })

  test('by a gateway (503) is the answer to a call: it may have run', async () => {
    let isAway = false
    const { server, host } = await start(line, {
      inSession: ({ what }, response) =>
        what === 'tools/call' && isAway && refuse(response, 503, 'restarting'),
    })
    isAway = true
    await expect(host.call(1)).rejects.toThrow(/restarting/)
    isAway = false
    expect(await host.call(2)).toBe('done 2')
    expect(server.of('tools/call')).toHaveLength(2)
    expect(server.of('initialize')).toHaveLength(1)
  })
})
