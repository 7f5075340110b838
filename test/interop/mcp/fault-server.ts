import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** One leg of an answer: what is written, then how it ends. */
export type Leg = (out: LegWriter) => void | Promise<void>

/** What the server saw of one request. */
export interface Seen {
  method: string
  headers: IncomingMessage['headers']
  /** The JSON-RPC method of a POST. */
  rpc: string | undefined
  id: unknown
  /** The tool of a `tools/call`. */
  tool: string | undefined
  params: Record<string, unknown> | undefined
  /** Milliseconds since the server's start. */
  at: number
  /** Whether the client gave the response up before it ended. */
  aborted: boolean
  /** Number of the socket. */
  socket: number
  /** The status that the guard answered with. */
  refused: number | undefined
}

/** An answer that comes before the protocol has its say. */
export interface GuardAnswer {
  status: number
  headers?: Record<string, string>
  body?: string
}

export interface McpScript {
  /** Who is let in (`undefined`), and what everybody else is told. What is asked beside `/mcp` is not recorded. */
  guard?: (request: IncomingMessage) => GuardAnswer | undefined
  /** The legs of the answer to each tool: the POST's own, then those of its resumes. The last one repeats. */
  tools?: Record<string, readonly Leg[]>
  /** The legs of the standalone stream. Default 405. */
  standalone?: readonly Leg[]
  /** Other methods (2026: `server/discover`, lists …). */
  methods?: Record<string, readonly Leg[]>
  /** The legs of resumes of other methods than tools/call. */
  resumed?: Record<string, Leg>
  /** The session that `initialize` opens. Default `'session-1'`; `null`: stateless. */
  session?: string | null
  /** The protocol version that `initialize` answers. Default 2025-11-25. */
  version?: string
}

/** Writes one leg. Nothing is sent until something is written, so that a leg can answer with another status. */
export class LegWriter {
  readonly seen: Seen
  /** The id that the call was made with. */
  readonly id: unknown
  readonly #response: ServerResponse

  constructor(response: ServerResponse, seen: Seen, id: unknown) {
    this.#response = response
    this.seen = seen
    this.id = id
  }

  open(headers: Record<string, string> = {}): this {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        ...headers,
      })
      this.#response.flushHeaders()
    }
    return this
  }

  raw(text: string): this {
    this.open()
    this.#response.write(text)
    return this
  }

  /** A priming event. */
  prime(id: string, retryMs?: number): this {
    return this.raw(`${retryMs === undefined ? '' : `retry: ${retryMs}\n`}id: ${id}\ndata: \n\n`)
  }

  comment(text = 'keepalive'): this {
    return this.raw(`: ${text}\n\n`)
  }

  message(message: object, id?: string): this {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    return this.raw(`${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${text}\n\n`)
  }

  log(data: unknown, id?: string): this {
    return this.message({ method: 'notifications/message', params: { level: 'info', data } }, id)
  }

  result(text = 'done', id?: string): this {
    return this.message({ id: this.id, result: { content: [{ type: 'text', text }] } }, id)
  }

  answer(status: number, body = '', headers: Record<string, string> = {}): void {
    this.#response.writeHead(status, headers).end(body)
  }

  end(): void {
    this.open()
    this.#response.end()
  }

  reset(): void {
    this.open()
    // What was written is sent first.
    setTimeout(() => (this.#response.socket as Socket | null)?.resetAndDestroy(), 20)
  }

  /** Breaks the connection before anything is answered. */
  drop(): void {
    ;(this.#response.socket as Socket | null)?.resetAndDestroy()
  }

  pause(ms: number): Promise<void> {
    return new Promise(resolve => setTimeout(resolve, ms))
  }
}

/** A raw MCP server whose streams break as scripted. */
export class McpFaultServer implements AsyncDisposable {
  readonly requests: Seen[] = []
  /** Sockets that were accepted. */
  connections = 0
  readonly #server: Server
  readonly #script: McpScript
  readonly #startedAt = performance.now()
  /** Which call a stream belongs to: by the event ids that it has used. */
  readonly #calls = new Map<string, { tool: string; id: unknown; leg: number }>()
  readonly #ids = new Map<string, unknown>()
  readonly #counts = new Map<string, number>()
  readonly #sockets = new Map<Socket, number>()

  private constructor(script: McpScript) {
    this.#script = script
    this.#server = createServer((request, response) => void this.#answer(request, response))
    this.#server.keepAliveTimeout = 60_000
    this.#server.on('connection', socket => {
      if (this.isAway) return void socket.resetAndDestroy()
      this.#sockets.set(socket, ++this.connections)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  static async start(script: McpScript): Promise<McpFaultServer> {
    const server = new McpFaultServer(script)
    await new Promise<void>(resolve => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`)
  }

  /** Responses that were begun, or asked for, and are not over. */
  busy = 0

  isAway = false

  /** Every connection is reset, and each new one, until `isAway` is false again. */
  goAway(): void {
    this.isAway = true
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy()
  }

  of(what: string): Seen[] {
    return this.requests.filter(({ method, rpc }) => method === what || rpc === what)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets.keys()) socket.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    try {
      for await (const chunk of request) text += chunk
    } catch {
      return
    }
    const guarded = this.#script.guard?.(request)
    if (guarded !== undefined && !request.url?.startsWith('/mcp'))
      return void response.writeHead(guarded.status, guarded.headers).end(guarded.body)
    const message = text === '' ? {} : JSON.parse(text)
    const seen: Seen = {
      method: request.method ?? '',
      headers: request.headers,
      rpc: message.method,
      id: message.id,
      tool: message.method === 'tools/call' ? message.params?.name : undefined,
      params: message.params,
      at: performance.now() - this.#startedAt,
      aborted: false,
      socket: this.#sockets.get(request.socket) ?? 0,
      refused: guarded?.status,
    }
    this.requests.push(seen)
    this.busy++
    response.on('close', () => {
      this.busy--
      seen.aborted = !response.writableFinished
    })
    if (guarded !== undefined)
      return void response.writeHead(guarded.status, guarded.headers).end(guarded.body)
    const legs = this.#legsFor(seen)
    if (legs !== undefined) {
      const { leg, id } = legs
      await leg(new LegWriter(response, seen, id))
      return
    }
    this.#plain(seen, response)
  }

  #legsFor(seen: Seen): { leg: Leg; id: unknown } | undefined {
    const { tools = {}, standalone, methods = {} } = this.#script
    const cursor = seen.headers['last-event-id'] as string | undefined
    if (seen.method === 'POST') {
      const own = seen.tool === undefined ? methods[seen.rpc ?? ''] : tools[seen.tool]
      if (own === undefined) return undefined
      const key = seen.tool ?? seen.rpc ?? ''
      const count = (this.#counts.get(key) ?? -1) + 1
      this.#counts.set(key, count)
      // 2026 has no GET: each POST is the next leg.
      const first = seen.tool === undefined || isModern(seen) ? own[Math.min(count, own.length - 1)] : own[0]
      if (seen.tool !== undefined) this.#calls.set(seen.tool, { tool: seen.tool, id: seen.id, leg: 0 })
      if (seen.tool === undefined) this.#ids.set(key, seen.id)
      return { leg: first as Leg, id: seen.id }
    }
    if (seen.method !== 'GET') return undefined
    const other = cursor?.split('/')[0] ?? ''
    const resumed = this.#script.resumed?.[other]
    if (resumed !== undefined) return { leg: resumed, id: this.#ids.get(other) }
    const call = cursor === undefined ? undefined : this.#calls.get(cursor.split('/')[0] ?? '')
    if (call !== undefined) {
      const own = tools[call.tool] as readonly Leg[]
      call.leg++
      return { leg: own[Math.min(call.leg, own.length - 1)] as Leg, id: call.id }
    }
    if (standalone === undefined) return undefined
    const count = (this.#counts.get('GET') ?? -1) + 1
    this.#counts.set('GET', count)
    return { leg: standalone[Math.min(count, standalone.length - 1)] as Leg, id: undefined }
  }

  #plain(seen: Seen, response: ServerResponse): void {
    const { session = 'session-1', version = '2025-11-25' } = this.#script
    if (seen.method === 'GET') return void response.writeHead(405).end()
    if (seen.method !== 'POST') return void response.writeHead(200).end()
    if (seen.id === undefined) return void response.writeHead(202).end()
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (session !== null && seen.rpc === 'initialize') headers['mcp-session-id'] = session
    const result =
      seen.rpc === 'initialize'
        ? {
            protocolVersion: version,
            capabilities: { tools: {}, logging: {} },
            serverInfo: { name: 'faulty', version: '1' },
          }
        : seen.rpc === 'ping'
          ? {}
          : { tools: [] }
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: seen.id, result }))
  }
}

function isModern(seen: Seen): boolean {
  return String(seen.headers['mcp-protocol-version'] ?? '') >= '2026'
}
