import { describe, expect, onTestFinished, test } from 'vitest'
import { type Line, sleep, until } from './clients.ts'
import {
  type Answer,
  type ForgetfulScript,
  ForgetfulServer,
  json,
  refuse,
  textResult,
} from './forgetful-server.ts'
import { connectHost, type HostOptions } from './transports.ts'

// What mcpTransport does when a server has forgotten the session, against a raw server.

const LINES: Line[] = ['v1', 'v2']

async function start(line: Line, script: ForgetfulScript = {}, how: HostOptions = {}) {
  const server = await ForgetfulServer.start(script)
  onTestFinished(() => server[Symbol.asyncDispose]())
  const host = await connectHost(line, server.url, how)
  await until(() => script.stateless || server.of('GET').length > 0)
  return { server, host }
}

describe.each(LINES)('%s: a session that the server has forgotten', line => {
  test('is initialized again as the host had done it, and what was set is set again, ahead of the call', async () => {
    const { server, host } = await start(line)
    await host.request('logging/setLevel', { level: 'debug' })
    await host.request('logging/setLevel', { level: 'error' })
    for (const uri of ['a:1', 'a:2', 'a:3']) await host.request('resources/subscribe', { uri })
    await host.request('resources/unsubscribe', { uri: 'a:2' })
    server.forget()
    const before = server.asked.length
    expect(await host.call(1)).toBe('done 1')
    expect(server.since(before).filter(asked => !asked.startsWith('GET'))).toEqual([
      'tools/call s1',
      'initialize -',
      'notifications/initialized s2',
      'logging/setLevel s2',
      'resources/subscribe s2',
      'resources/subscribe s2',
      'tools/call s2',
    ])
    const [first, second] = server.of('initialize')
    expect(second?.params).toEqual(first?.params)
    const again = server.asked.slice(before)
    expect(again.flatMap(({ what, params }) => (/setLevel|subscribe/.test(what) ? [params] : []))).toEqual([
      { level: 'error' },
      { uri: 'a:1' },
      { uri: 'a:3' },
    ])
    expect(server.done).toEqual([1])
    expect(host.transport.sessionId).toBe('s2')
    expect(again.at(-1)?.headers['mcp-protocol-version']).toBe('2025-11-25')
    await until(() => server.of('GET').some(({ session }) => session === 's2'))
    expect(host.errors).toEqual([])
  })

  test.each([410, 400])('may be told by %s', async status => {
    const body =
      '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}'
    const { server, host } = await start(line, { unknown: response => void refuse(response, status, body) })
    server.forget()
    expect(await host.call(1)).toBe('done 1')
    expect(server.of('initialize')).toHaveLength(2)
  })

  test('is not meant by a 400 to one request', async () => {
    const { server, host } = await start(line, {
      inSession: ({ what }, response) =>
        what === 'tools/call' && refuse(response, 400, '{"message":"no such number"}'),
    })
    await expect(host.call(1)).rejects.toThrow(/no such number/)
    expect(server.of('initialize')).toHaveLength(1)
  })

  test('is told to the host, with what the new server says otherwise; lists may have changed', async () => {
    const { server, host } = await start(line)
    await host.request('resources/subscribe', { uri: 'a:1' })
    await host.request('logging/setLevel', { level: 'debug' })
    const capabilities = { tools: { listChanged: true }, prompts: { listChanged: true }, logging: {} }
    server.script.result = {
      protocolVersion: '2025-06-18',
      capabilities,
      serverInfo: { name: 'forgetful', version: '2' },
    }
    server.forget()
    expect(await host.call(1)).toBe('done 1')
    expect(host.sessions).toMatchObject([
      { type: 'lost', sessionId: 's1', status: 404 },
      {
        type: 'initialized',
        sessionId: 's2',
        result: { protocolVersion: '2025-06-18', capabilities, serverInfo: { version: '2' } },
        previous: { protocolVersion: '2025-11-25', serverInfo: { version: '1' } },
        changed: ['protocolVersion', 'capabilities', 'serverInfo'],
        notReplayed: ['resources/subscribe'],
      },
    ])
    expect(server.of('tools/call').at(-1)?.headers['mcp-protocol-version']).toBe('2025-06-18')
    expect(host.told).toEqual([
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/updated',
    ])
  })

  test('is told when the new server is the same: nothing has changed', async () => {
    const { server, host } = await start(line)
    server.forget()
    await host.call(1)
    expect(host.sessions.at(-1)).toMatchObject({ type: 'initialized', changed: [], notReplayed: [] })
  })

  test('may be noticed by the standalone stream first; what the server says next arrives', async () => {
    const { server, host } = await start(line)
    server.forget()
    server.endStreams()
    await until(() => server.streams.size === 1 && server.of('initialize').length === 2)
    server.say({ method: 'notifications/message', params: { level: 'info', data: 'here' } })
    await until(() => host.told.includes('notifications/message'))
    expect(await host.call(1)).toBe('done 1')
    expect(server.of('initialize')).toHaveLength(2)
    expect(host.errors).toEqual([])
  })

  test('is initialized once, whoever notices: twenty calls, the standalone stream, and streams of calls', async () => {
    // The answer of a call that is resumed.
    const inSession: Answer = ({ what, id, params }, response) => {
      const { number } = (params?.arguments ?? {}) as { number?: unknown }
      if (what !== 'tools/call' || number !== 'slow') return false
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`id: slow/${id}\ndata: \n\n`)
      return true
    }
    const { server, host } = await start(line, { inSession })
    const slow = host.call('slow')
    slow.catch(() => {})
    await sleep(0)
    await until(() => server.of('tools/call').length === 1)
    server.forget()
    server.endStreams()
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    expect(await Promise.all(numbers.map(number => host.call(number)))).toHaveLength(20)
    await expect(slow).rejects.toMatchObject({
      code: -32_000,
      data: { sent: 'unknown', reason: 'session-lost' },
    })
    expect(server.of('initialize')).toHaveLength(2)
    expect(server.done.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers)
    expect(host.errors).toEqual([])
  })

  test('takes its open calls with it: they are told, long before the watchdog would have found out', async () => {
    const inSession: Answer = ({ params }, response) => {
      const { number } = (params?.arguments ?? {}) as { number?: unknown }
      if (number === 'stream') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      return number === 'stream' || number === 'nothing'
    }
    const { server, host } = await start(line, { inSession })
    const lost = [host.call('stream'), host.call('nothing')]
    for (const call of lost) call.catch(() => {})
    await until(() => server.of('tools/call').length === 2)
    server.forget()
    const startedAt = performance.now()
    expect(await host.call(1)).toBe('done 1')
    for (const call of lost)
      await expect(call).rejects.toMatchObject({
        code: -32_000,
        data: { sent: 'unknown', reason: 'session-lost' },
      })
    expect(performance.now() - startedAt).toBeLessThan(30_000)
    expect(server.of('tools/call')).toHaveLength(4)
    expect(host.errors).toEqual([])
  })

  test('that still answers a call in time is believed', async () => {
    const held: (() => void)[] = []
    const inSession: Answer = ({ id, params }, response) => {
      const { number } = (params?.arguments ?? {}) as { number?: unknown }
      if (number !== 'held') return false
      held.push(() => json(response, { id, result: textResult('late') }))
      return true
    }
    const { server, host } = await start(line, { inSession })
    const call = host.call('held')
    await until(() => held.length === 1)
    server.forget()
    expect(await host.call(1)).toBe('done 1')
    held[0]?.()
    expect(await call).toBe('late')
  })

  test('is not looked for at a server without sessions: its 404 is the answer', async () => {
    const { server, host } = await start(line, {
      stateless: true,
      inSession: ({ what }, response) => what === 'tools/call' && refuse(response, 404, 'nothing here'),
    })
    await expect(host.call(1)).rejects.toThrow(/nothing here/)
    await expect(host.call(2)).rejects.toThrow(/nothing here/)
    expect(server.of('initialize')).toHaveLength(1)
    expect(host.sessions).toEqual([])
  })

  test('that the host has ended itself stays ended', async () => {
    const { server, host } = await start(line)
    await (host.transport as unknown as { terminateSession(): Promise<void> }).terminateSession()
    // The standalone stream finds that there is no session.
    await until(() => server.of('GET').length === 2)
    await sleep(300)
    expect(server.of('initialize')).toHaveLength(1)
    expect(host.sessions).toEqual([])
  })
})
