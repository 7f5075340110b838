import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Message, StreamParameters } from './client.ts'

/** After this, what is waited for hangs: no judgement on speed, which is the machine's. Below the limit of a test. */
export const PATIENCE_MS = 25_000

/** Values that arrive in their own time, taken one by one. */
class Inbox<Value> {
  readonly #values: Value[] = []
  #arrived: () => void = () => {}

  put(value: Value): void {
    this.#values.push(value)
    this.#arrived()
  }

  get size(): number {
    return this.#values.length
  }

  async take(what: string): Promise<Value> {
    const deadline = performance.now() + PATIENCE_MS
    while (this.#values.length === 0) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) throw new Error(`no ${what} within ${PATIENCE_MS} ms`)
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, leftMs)
        this.#arrived = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this.#values.shift() as Value
  }
}

/** A request for the stream, and the response to it. */
export class Dial {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Resolves when the connection is no more. */
  readonly gone: Promise<unknown>
  readonly #response: ServerResponse

  constructor(method: string, headers: IncomingHttpHeaders, body: string, response: ServerResponse) {
    this.method = method
    this.headers = headers
    this.body = body
    this.gone = once(response, 'close')
    this.#response = response
  }

  send(bytes: string | Uint8Array): void {
    this.#response.write(bytes)
  }

  break(): void {
    this.#response.destroy()
  }
}

/** What a stream's address answers, unless it is an event stream. */
type Answer = (response: ServerResponse) => void

/** One stream that the service was told to read: the far ends of its requests and of its callbacks. */
export class DrivenStream {
  readonly dials = new Inbox<Dial>()
  readonly #server: Server
  readonly #answer: Answer | undefined
  /** Callbacks by number: they are told in order, yet each is a request of its own. */
  readonly #early = new Map<number, Message>()
  readonly #messages = new Inbox<Message>()
  #nextNumber = 1
  #closing = false
  #location = ''

  private constructor(answer: Answer | undefined) {
    this.#answer = answer
    this.#server = createServer((request, response) => {
      // A callback that is on its way when the stream is closed is cut off with it.
      this.#serve(request, response).catch(error => {
        if (!this.#closing) throw error
      })
    })
  }

  static async begin(
    service: string,
    parameters: Partial<StreamParameters> = {},
    answer?: Answer,
  ): Promise<DrivenStream> {
    const stream = new DrivenStream(answer)
    await once(stream.#server.listen(0, '127.0.0.1'), 'listening')
    const origin = `http://127.0.0.1:${(stream.#server.address() as AddressInfo).port}`
    const created = await post(service, {
      streamUrl: `${origin}/stream`,
      ...parameters,
      callbackUrl: `${origin}/callback`,
    })
    if (created.status !== 201) throw new Error(`${created.status}: ${await created.text()}`)
    stream.#location = new URL(created.headers.get('location') ?? '', service).href
    return stream
  }

  dial(): Promise<Dial> {
    return this.dials.take('request')
  }

  message(): Promise<Message> {
    return this.#messages.take('callback')
  }

  async messages(count: number): Promise<Message[]> {
    const told: Message[] = []
    while (told.length < count) told.push(await this.message())
    return told
  }

  /** Callbacks that nobody has asked for yet. */
  get untold(): number {
    return this.#messages.size + this.#early.size
  }

  command(command: object): Promise<Response> {
    return post(this.#location, command)
  }

  async close(): Promise<Response> {
    this.#closing = true
    const closed = await fetch(this.#location, { method: 'DELETE' })
    this.#server.close()
    this.#server.closeAllConnections()
    return closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers, url = '' } = request
    const body = await text(request)
    const [, number] = /^\/callback\/(\d+)$/.exec(url) ?? []
    if (number !== undefined) {
      this.#called(Number(number), JSON.parse(body))
      response.writeHead(202).end()
      return
    }
    this.dials.put(new Dial(method, headers, body, response))
    if (this.#answer && url === '/stream') return this.#answer(response)
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).flushHeaders()
  }

  #called(number: number, message: Message): void {
    this.#early.set(number, message)
    for (;;) {
      const next = this.#early.get(this.#nextNumber)
      if (next === undefined) return
      this.#early.delete(this.#nextNumber++)
      this.#messages.put(next)
    }
  }
}

export function post(url: string, body: object | string): Promise<Response> {
  return fetch(url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
}
