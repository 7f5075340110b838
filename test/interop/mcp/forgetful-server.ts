import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request as the server saw it. */
export interface Asked {
  /** The HTTP method, or the JSON-RPC method of a POST. */
  what: string
  session: string | undefined
  id: unknown
  params: Record<string, unknown> | undefined
  message: Record<string, unknown> | undefined
  headers: IncomingMessage['headers']
}

/** Answers a request in place of the server; false leaves it to the server. */
export type Answer = (asked: Asked, response: ServerResponse, server: ForgetfulServer) => boolean | undefined

export interface ForgetfulScript {
  /** Before the session is looked at. */
  atFirst?: Answer
  /** What is in a session that the server knows. */
  inSession?: Answer
  /** What `initialize` answers beside the usual. */
  result?: Record<string, unknown>
  stateless?: boolean
  /** What is said to a session that is not known. Default 404. */
  unknown?: (response: ServerResponse) => void
}

const RESULT = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } },
  serverInfo: { name: 'forgetful', version: '1' },
}

/** A raw server with sessions that it forgets when it is told to. Its open streams are left as they are. */
export class ForgetfulServer implements AsyncDisposable {
  script: ForgetfulScript
  readonly asked: Asked[] = []
  /** The calls that were carried out, by their `number`. */
  readonly done: unknown[] = []
  /** Standalone streams that are open. */
  readonly streams = new Set<ServerResponse>()
  readonly #known = new Set<string>()
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #port = 0
  #count = 0

  private constructor(script: ForgetfulScript) {
    this.script = script
  }

  static async start(script: ForgetfulScript = {}): Promise<ForgetfulServer> {
    const server = new ForgetfulServer(script)
    await server.listen()
    return server
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.#port}/mcp`)
  }

  of(what: string): Asked[] {
    return this.asked.filter(asked => asked.what === what)
  }

  /** What was asked for since, in order. */
  since(count: number): string[] {
    return this.asked.slice(count).map(({ what, session }) => `${what} ${session ?? '-'}`)
  }

  forget(): void {
    this.#known.clear()
  }

  endStreams(): void {
    for (const stream of this.streams) stream.end()
  }

  /** Says something on all standalone streams. */
  say(message: object): void {
    for (const stream of this.streams)
      stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.#answer(request, response))
    server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket))
    })
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve))
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
  }

  /** As if the process had died. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.resetAndDestroy()
    const server = this.#server
    this.#server = undefined
    if (server) await new Promise(resolve => server.close(resolve))
    // A client that has not seen its kept connections break would try one of them.
    await new Promise(resolve => setTimeout(resolve, 50))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    const message = text === '' ? undefined : JSON.parse(text)
    const [only] = [message].flat()
    const asked: Asked = {
      what: only?.method ?? (request.method === 'POST' ? 'answer' : (request.method ?? '')),
      session: request.headers['mcp-session-id'] as string | undefined,
      id: only?.id,
      params: only?.params,
      message,
      headers: request.headers,
    }
    this.asked.push(asked)
    const { atFirst, inSession, stateless, unknown = notFound } = this.script
    if (atFirst?.(asked, response, this)) return
    if (asked.what === 'initialize') return this.#initialize(asked, response)
    if (!stateless && !this.#known.has(asked.session ?? '')) return unknown(response)
    if (inSession?.(asked, response, this)) return
    this.#usual(asked, response)
  }

  #initialize({ id }: Asked, response: ServerResponse): void {
    const session = `s${++this.#count}`
    this.#known.add(session)
    json(
      response,
      { id, result: { ...RESULT, ...this.script.result } },
      this.script.stateless ? {} : { 'mcp-session-id': session },
    )
  }

  #usual({ what, id, params, message }: Asked, response: ServerResponse): void {
    if (what === 'GET') {
      if (this.script.stateless) return void response.writeHead(405).end()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      this.streams.add(response)
      return void response.on('close', () => this.streams.delete(response))
    }
    if (what === 'DELETE') {
      this.forget()
      this.endStreams()
      return void response.writeHead(200).end()
    }
    if (id === undefined || what === 'answer') return void response.writeHead(202).end()
    const answers = [message].flat().map(each => this.#carriedOut(each ?? {}, params))
    json(response, Array.isArray(message) ? answers : (answers[0] as object))
  }

  #carriedOut({ id, method, params }: Record<string, unknown>, _?: unknown): object {
    const { number } = ((params as Record<string, unknown> | undefined)?.arguments ?? {}) as {
      number?: unknown
    }
    if (method === 'tools/call') this.done.push(number)
    const result =
      method === 'tools/call' ? textResult(`done ${number}`) : method === 'tools/list' ? { tools: [] } : {}
    return { jsonrpc: '2.0', id, result }
  }
}

export function textResult(text: string): object {
  return { content: [{ type: 'text', text }] }
}

export function json(response: ServerResponse, message: object, headers: Record<string, string> = {}): void {
  const body = JSON.stringify(Array.isArray(message) ? message : { jsonrpc: '2.0', ...message })
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body)
}

export function refuse(response: ServerResponse, status: number, body = ''): true {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  return true
}

function notFound(response: ServerResponse): void {
  refuse(response, 404, '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}')
}
