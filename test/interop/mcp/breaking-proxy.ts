import {
  request as ask,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy that resets some of the streams that pass through it, right after their first event id. */
export class BreakingProxy implements AsyncDisposable {
  /** JSON-RPC methods that were POSTed. */
  readonly posts: string[] = []
  /** Legs that were reset. */
  resets = 0
  #legs = 0
  readonly #server: Server
  readonly #target: URL
  readonly #every: number

  private constructor(target: URL, every: number) {
    this.#target = target
    this.#every = every
    this.#server = createServer((request, response) => void this.#pass(request, response))
  }

  /** `every`: which leg in how many is reset. */
  static async start(target: URL, every: number): Promise<BreakingProxy> {
    const proxy = new BreakingProxy(target, every)
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${this.#target.pathname}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const method: string | undefined = body.length > 0 ? JSON.parse(body.toString()).method : undefined
    if (method !== undefined) this.posts.push(method)
    const isLeg = method === 'tools/call' || request.headers['last-event-id'] !== undefined
    const breaks = isLeg && ++this.#legs % this.#every === 0
    const headers = { ...request.headers, host: this.#target.host, connection: 'close' }
    // One connection for each request: a shared one would not always be closed after `connection: close`.
    const upstream = ask(this.#target, { method: request.method ?? 'GET', headers, agent: false })
    upstream.on('error', () => response.destroy())
    response.on('close', () => upstream.destroy())
    upstream.on('response', answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      if (breaks) this.#breakAfterId(answer, response)
      else answer.pipe(response)
    })
    upstream.end(body)
  }

  #breakAfterId(answer: IncomingMessage, response: ServerResponse): void {
    let text = ''
    let isBroken = false
    answer.on('data', chunk => {
      text += chunk
      const end = /^id: .*\n(?:.+\n)*\n/m.exec(text)
      if (isBroken || end === null) return
      isBroken = true
      this.resets++
      // What was written is sent first.
      response.write(text.slice(0, end.index + end[0].length), () => {
        setTimeout(() => response.socket?.resetAndDestroy(), 10)
      })
    })
    answer.on('end', () => {
      if (!isBroken) response.end(text)
    })
  }
}
