import { StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { mcpTransport } from 'resilient-sse/mcp'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Line, QUICK, sleep, until } from './clients.ts'
import { type ForgetfulScript, ForgetfulServer } from './forgetful-server.ts'
import { connectHost } from './transports.ts'

// Which message belongs to which session: odd ids, batches, and what the server asks of the host.

const LINES: Line[] = ['v1', 'v2']
const CLASSES = { v1: TransportV1, v2: TransportV2 }

interface Message {
  jsonrpc?: string
  id?: string | number
  method?: string
  params?: Record<string, unknown>
  result?: unknown
  error?: { code: number; data?: unknown }
}

/** The transport without a client on it: as a host that speaks JSON-RPC by itself. */
async function rawHost(line: Line, script: ForgetfulScript = {}) {
  const server = await ForgetfulServer.start(script)
  onTestFinished(() => server[Symbol.asyncDispose]())
  const transport = mcpTransport(CLASSES[line] as typeof TransportV2, server.url, undefined, QUICK)
  onTestFinished(() => transport.close())
  const heard: Message[] = []
  transport.onmessage = message => void heard.push(message as Message)
  await transport.start()
  const send = (message: Message) => transport.send({ jsonrpc: '2.0', ...message } as never)
  const clientInfo = { name: 'raw', version: '1' }
  await send({
    id: 'hello',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  })
  transport.setProtocolVersion('2025-11-25')
  await send({ method: 'notifications/initialized' })
  await until(() => server.streams.size === 1)
  heard.length = 0
  return { server, transport, heard, send }
}

const call = (id: string | number, number: unknown = id): Message => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'work', arguments: { number } },
})

describe.each(LINES)('%s: when the session is lost', line => {
  test.each<string | number>([0, '0', 1, '1', '', -1, 'hello', 'resilient-sse-1'])(
    'a call under the id %j is answered under it, once',
    async id => {
      const { server, heard, send } = await rawHost(line)
      server.forget()
      await send(call(id))
      await until(() => heard.some(message => message.id === id))
      await sleep(50)
      expect(heard.filter(message => 'id' in message).map(message => message.id)).toEqual([id])
      expect(server.done).toEqual([id])
    },
  )

  test('calls under 1 and "1" are two', async () => {
    const { server, heard, send } = await rawHost(line)
    server.forget()
    await Promise.all([send(call(1)), send(call('1'))])
    await until(() => heard.filter(message => 'id' in message).length === 2)
    expect(server.done).toHaveLength(2)
    expect(server.of('initialize')).toHaveLength(2)
  })

  test('a batch is sent again as a whole, less what was cancelled meanwhile', async () => {
    const held: (() => void)[] = []
    const { server, heard, transport } = await rawHost(line)
    server.script.atFirst = ({ what }, _, forgetful) => {
      if (what !== 'initialize' || held.length > 0) return false
      held.push(() => forgetful.stop())
      return true
    }
    server.forget()
    const sent = transport.send([call(7), call('eight'), { ...call(9) }] as never)
    await until(() => held.length === 1)
    await transport.send({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'eight' },
    } as never)
    // The server that holds `initialize` dies; the one after it answers.
    await server.stop()
    await server.listen()
    await sent
    await until(() => heard.filter(message => 'id' in message).length === 2)
    expect(heard.flatMap(({ id }) => id ?? [])).toEqual([7, 9])
    expect(server.done).toEqual([7, 9])
    expect(server.of('notifications/cancelled')).toEqual([])
  })

  test('an answer to the old session is not sent to the new one, whose requests have ids of their own', async () => {
    const { server, heard, send } = await rawHost(line)
    server.say({
      id: 0,
      method: 'elicitation/create',
      params: { message: 'old?', _meta: { progressToken: 0 } },
    })
    await until(() => heard.some(({ id }) => id === 0))
    server.forget()
    await send(call('next'))
    // The host is told that nobody waits for it.
    expect(heard.find(({ method }) => method === 'notifications/cancelled')?.params).toMatchObject({
      requestId: 0,
    })
    await until(() => [...server.streams].length === 1 && server.of('GET').at(-1)?.session === 's2')
    server.say({
      id: 0,
      method: 'elicitation/create',
      params: { message: 'new?', _meta: { progressToken: 0 } },
    })
    const second = () => heard.filter(({ method }) => method === 'elicitation/create')[1]
    await until(() => second() !== undefined)
    expect(second()?.id).not.toBe(0)
    await send({ method: 'notifications/progress', params: { progressToken: 0, progress: 1 } })
    await send({ id: 0, result: { action: 'accept', content: { which: 'old' } } })
    const progressToken = (second()?.params?._meta as { progressToken?: string } | undefined)?.progressToken
    await send({ method: 'notifications/progress', params: { progressToken, progress: 2 } })
    await send({ id: second()?.id as string, result: { action: 'accept', content: { which: 'new' } } })
    await until(() => server.of('answer').length > 0)
    await sleep(100)
    expect(
      server.of('answer').map(({ message, session }) => [message?.id, message?.result, session]),
    ).toEqual([[0, { action: 'accept', content: { which: 'new' } }, 's2']])
    expect(server.of('notifications/progress').map(({ params }) => params)).toEqual([
      { progressToken: 0, progress: 2 },
    ])
  })

  test("what the server takes back of its requests is taken back under the host's id", async () => {
    const { server, heard, send } = await rawHost(line)
    server.forget()
    await send(call('next'))
    await until(() => server.of('GET').at(-1)?.session === 's2' && server.streams.size === 1)
    server.say({ id: 'a', method: 'elicitation/create', params: { message: '?' } })
    server.say({ method: 'notifications/cancelled', params: { requestId: 'a' } })
    await until(() => heard.some(({ method }) => method === 'notifications/cancelled'))
    const asked = heard.find(({ method }) => method === 'elicitation/create')
    const cancelled = heard.find(({ method }) => method === 'notifications/cancelled')
    expect(cancelled?.params?.requestId).toBe(asked?.id)
  })

  test('a dialogue that the old session had opened is closed', async () => {
    let closed = 0
    let opened = 0
    const server = await ForgetfulServer.start()
    onTestFinished(() => server[Symbol.asyncDispose]())
    const elicit = (signal: AbortSignal) =>
      new Promise<void>(resolve => {
        opened++
        signal.addEventListener('abort', () => {
          closed++
          resolve()
        })
      })
    const host = await connectHost(line, server.url, { elicit })
    await until(() => server.streams.size === 1)
    const requestedSchema = { type: 'object', properties: {} }
    server.say({
      id: 5,
      method: 'elicitation/create',
      params: { mode: 'form', message: 'sure?', requestedSchema },
    })
    await until(() => opened === 1)
    server.forget()
    expect(await host.call(1)).toBe('done 1')
    await until(() => closed === 1)
    await sleep(100)
    expect(server.of('answer')).toEqual([])
    expect(host.errors).toEqual([])
  })

  test('a close is told once, and nothing is sent after it', async () => {
    const { server, transport, send } = await rawHost(line)
    let closed = 0
    transport.onclose = () => void closed++
    server.forget()
    const sent = send(call(1))
    sent.catch(() => {})
    await transport.close()
    await transport.close()
    expect(closed).toBe(1)
    await expect(sent).rejects.toThrow()
    await expect(send(call(2))).rejects.toMatchObject({ code: 'ERR_SSE_CLOSED' })
    const settled = server.asked.length
    await sleep(200)
    expect(server.asked.length - settled).toBeLessThanOrEqual(1)
    expect(server.done).toEqual([])
  })
})
