import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import {
  createMcpHandler,
  type McpHttpHandler,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sleep, until } from './clients.ts'
import { closing, connect, HUNG, lost } from './revision-2026.ts'

// 2026-07-28 against the SDK's own server.

/** A server whose process can die and be started again at the same address. */
class RealServer implements AsyncDisposable {
  /** JSON-RPC methods that it was asked for. */
  readonly asked: string[] = []
  /** How often the tool or the resource was begun, and how often it was told to stop before it was done. */
  begun = 0
  cancelled = 0
  /** Whether what is begun goes on until it is told to stop. */
  holds = false
  notify!: McpHttpHandler['notify']
  #handler!: McpHttpHandler
  #http!: Server
  #answers = new Set<ServerResponse>()
  #port = 0

  static async start(): Promise<RealServer> {
    const server = new RealServer()
    await server.restart()
    return server
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.#port}/mcp`)
  }

  async restart(): Promise<void> {
    this.holds = false
    this.#handler = createMcpHandler(() => this.#mcp(), {
      legacy: 'reject',
      keepAliveMs: 50,
      responseMode: 'sse',
    })
    this.notify = this.#handler.notify
    const listener = getRequestListener(request => {
      this.asked.push(request.headers.get('mcp-method') ?? request.method)
      return this.#handler.fetch(request)
    })
    this.#http = createServer((request, response) => {
      this.#answers.add(response)
      response.on('close', () => this.#answers.delete(response))
      void listener(request, response)
    })
    await new Promise<void>(resolve => this.#http.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (this.#http.address() as AddressInfo).port
  }

  /** As by kill -9: every connection is reset, and nobody says a word. */
  async kill(): Promise<void> {
    const closed = new Promise(resolve => this.#http.close(resolve))
    for (const { socket } of this.#answers) socket?.resetAndDestroy()
    this.#http.closeAllConnections()
    await closed
  }

  /** As by a deployment: open subscriptions are ended with a result. */
  async shutDown(): Promise<void> {
    await this.#handler.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handler.close()
    await this.kill()
  }

  #mcp(): McpServer {
    const server = new McpServer(
      { name: 'real', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } },
    )
    server.registerTool('work', { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
      await this.#atWork(mcpReq)
      return { content: [{ type: 'text', text: 'done' }] }
    })
    server.registerResource('memo', 'memo://1', {}, async (uri, { mcpReq }) => {
      await this.#atWork(mcpReq)
      return { contents: [{ uri: uri.href, text: 'noted' }] }
    })
    return server
  }

  /** Tells its progress, and is done at once unless it is held. */
  async #atWork({ _meta, notify, signal }: ServerContext['mcpReq']): Promise<void> {
    this.begun++
    const progressToken = _meta?.progressToken
    if (progressToken !== undefined)
      await notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    if (!this.holds) return
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    this.cancelled++
  }
}

const HOWS = ['bare', {}] as const
/** A call of which the client has seen that it is under way. The SDK alone need not hang for long. */
function progressOf(how: (typeof HOWS)[number]) {
  const seen = {
    count: 0,
    options: { onprogress: () => void seen.count++, timeout: how === 'bare' ? 4_000 : 60_000 },
  }
  return seen
}

const work = { name: 'work', arguments: {} }

describe('a server that dies and is started again', () => {
  test('during a read: it is read again; the SDK alone hangs', async () => {
    const outcomes = await Promise.all(
      HOWS.map(async how => {
        const server = closing(await RealServer.start())
        const { client, errors } = await connect(server.url, how)
        server.holds = true
        const seen = progressOf(how)
        const reading = client.readResource({ uri: 'memo://1' }, seen.options).catch(error => error)
        await until(() => seen.count === 1)
        await server.kill()
        await server.restart()
        return { outcome: await reading, begun: server.begun, errors: errors.length }
      }),
    )
    expect(outcomes).toMatchObject([
      { outcome: HUNG, begun: 1, errors: 1 },
      { outcome: { contents: [{ text: 'noted' }] }, begun: 2, errors: 0 },
    ])
  })

  test('during a tool call: the call is settled and not run again; the SDK alone hangs', async () => {
    const outcomes = await Promise.all(
      HOWS.map(async how => {
        const server = closing(await RealServer.start())
        const { client } = await connect(server.url, how)
        server.holds = true
        const seen = progressOf(how)
        const calling = client.callTool(work, seen.options).catch(error => error)
        await until(() => seen.count === 1)
        await server.kill()
        await server.restart()
        const outcome = await calling
        const next = await client.callTool(work)
        return { outcome, next, begun: server.begun }
      }),
    )
    const next = { content: [{ text: 'done' }] }
    expect(outcomes).toMatchObject([
      { outcome: HUNG, next, begun: 2 },
      { outcome: lost({ reason: 'not-resent' }), next, begun: 2 },
    ])
  })

  test('under a subscription: the host is told that lists may have changed, and goes on being told', async () => {
    for (const how of HOWS) {
      const server = closing(await RealServer.start())
      const { client, errors } = await connect(server.url, how)
      let told = 0
      client.setNotificationHandler('notifications/tools/list_changed', () => void told++)
      const subscription = await client.listen({ toolsListChanged: true })
      server.notify.toolsChanged()
      await until(() => told === 1)
      await server.kill()
      await sleep(100)
      await server.restart()
      if (how === 'bare') {
        expect(await subscription.closed).toBe('remote')
        server.notify.toolsChanged()
        await sleep(300)
        expect(told).toBe(1)
        continue
      }
      await until(() => told === 2)
      server.notify.toolsChanged()
      await until(() => told === 3)
      expect(errors).toEqual([])
      await subscription.close()
    }
  })

  test('after it has said so: a subscription is ended and left ended, with the SDK alone as well', async () => {
    for (const how of HOWS) {
      const server = closing(await RealServer.start())
      const { client, errors } = await connect(server.url, how)
      const subscription = await client.listen({ toolsListChanged: true })
      await server.shutDown()
      expect(await subscription.closed).toBe('graceful')
      await sleep(200)
      expect(server.asked.filter(method => method === 'subscriptions/listen')).toHaveLength(1)
      expect(errors).toEqual([])
    }
  })
})

test('a call that its caller cancels is cancelled on the server, and one that is not is not', async () => {
  for (const how of HOWS) {
    const server = closing(await RealServer.start())
    const { client } = await connect(server.url, how)
    expect((await client.callTool(work)).content).toEqual([{ type: 'text', text: 'done' }])
    expect(server.cancelled).toBe(0)
    server.holds = true
    const cancel = new AbortController()
    const calling = client.callTool(work, { signal: cancel.signal })
    await until(() => server.begun === 2)
    cancel.abort()
    await expect(calling).rejects.toThrow()
    await until(() => server.cancelled === 1)
    expect(server.asked).not.toContain('GET')
  }
})
