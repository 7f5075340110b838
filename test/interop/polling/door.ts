import {
  request as ask,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request that reached the server. */
export interface Entry {
  method: string
  /** The tool that is called. */
  tool: string | undefined
  lastEventId: string | undefined
  /** Of the answer, as soon as there is one. */
  status: number | undefined
  /** Its answer has ended, or was cut off. */
  over: boolean
}

/** Stands right in front of a server, behind any gateway, passes everything on as it comes, and keeps a record. */
export class Door implements AsyncDisposable {
  readonly entries: Entry[] = []
  readonly #target: URL
  readonly #http: Server

  private constructor(target: URL) {
    this.#target = target
    this.#http = createServer((request, response) => void this.#pass(request, response))
  }

  static async open(target: URL): Promise<Door> {
    const door = new Door(target)
    await new Promise<void>(resolve => door.#http.listen(0, '127.0.0.1', resolve))
    return door
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#http.address() as AddressInfo).port}${this.#target.pathname}`)
  }

  /** How often this tool was called. */
  posts(tool: string): number {
    return this.entries.filter(entry => entry.tool === tool).length
  }

  /** GETs that were answered with a stream. */
  streams(): Entry[] {
    return this.entries.filter(({ method, status }) => method === 'GET' && status === 200)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections()
    await new Promise(resolve => this.#http.close(resolve))
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const message = body.length > 0 ? JSON.parse(body.toString()) : {}
    const entry: Entry = {
      method: request.method ?? '',
      tool: message.method === 'tools/call' ? message.params.name : undefined,
      lastEventId: request.headers['last-event-id'] as string | undefined,
      status: undefined,
      over: false,
    }
    this.entries.push(entry)
    const headers = { ...request.headers, connection: 'close' }
    const upstream = ask(this.#target, { method: entry.method, headers, agent: false })
    upstream.on('error', () => response.destroy())
    response.on('close', () => {
      entry.over = true
      upstream.destroy()
    })
    upstream.on('response', answer => {
      entry.status = answer.statusCode
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      // A stream that is quiet at first is open all the same.
      response.flushHeaders()
      answer.on('error', () => response.destroy())
      answer.pipe(response)
    })
    upstream.end(body)
  }
}
