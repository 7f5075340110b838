import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { textResult } from './forgetful-server.ts'

/** HTTP+SSE of 2024-11-05: a stream that names the endpoint of its session, and answers what is posted there. */
export class LegacyServer implements AsyncDisposable {
  /** The JSON-RPC methods that came, with their session. */
  readonly asked: string[] = []
  readonly done: unknown[] = []
  /** Each session's stream. */
  readonly streams = new Map<string, ServerResponse>()
  /** The calls that are not answered. */
  holds = (_number: unknown): boolean => false
  #count = 0
  readonly #server: Server

  private constructor() {
    this.#server = createServer(async (request, response) => {
      const url = new URL(request.url ?? '', 'http://server.test')
      if (request.method === 'GET') return this.#open(response)
      let text = ''
      for await (const chunk of request) text += chunk
      this.#post(url.searchParams.get('session') ?? '', JSON.parse(text), response)
    })
  }

  /** `port`: 0 for a free one. */
  static async start(port = 0): Promise<LegacyServer> {
    const server = new LegacyServer()
    await new Promise<void>(resolve => server.#server.listen(port, '127.0.0.1', resolve))
    return server
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/sse`)
  }

  of(what: string): string[] {
    return this.asked.filter(asked => asked.startsWith(`${what} `))
  }

  /** Another session on a stream that is open, as of a gateway whose own connection was replaced. */
  nameEndpointAgain(session: string): void {
    const stream = this.streams.get(session)
    this.streams.delete(session)
    if (stream !== undefined) this.#name(stream)
  }

  /** The server no longer knows a session, whose stream stays open. */
  forget(session: string): void {
    this.streams.delete(session)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #open(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    this.#name(response)
  }

  #name(response: ServerResponse): void {
    const session = `s${++this.#count}`
    this.streams.set(session, response)
    response.write(`event: endpoint\ndata: /messages?session=${session}\n\n`)
  }

  #post(session: string, message: Record<string, unknown>, response: ServerResponse): void {
    this.asked.push(`${message.method ?? 'answer'} ${session}`)
    const stream = this.streams.get(session)
    if (stream === undefined) return void response.writeHead(404).end('Session not found')
    response.writeHead(202).end()
    if (message.id === undefined || message.method === undefined) return
    const { number } = ((message.params as { arguments?: object })?.arguments ?? {}) as { number?: unknown }
    if (message.method === 'tools/call') this.done.push(number)
    if (this.holds(number)) return
    const result =
      message.method === 'initialize'
        ? {
            protocolVersion: '2024-11-05',
            capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
            serverInfo: { name: 'legacy', version: '1' },
          }
        : message.method === 'tools/call'
          ? textResult(`done ${number}`)
          : {}
    stream.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n\n`)
  }
}
