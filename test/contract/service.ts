import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { Callbacks } from './callbacks.ts'
import type { Client, Stream, StreamParameters } from './client.ts'

export interface Service {
  url: string
  close(): Promise<void>
}

/**
 * The HTTP service through which the harness drives a client. The protocol is the harness's own; its test_service
 * document describes it.
 */
export async function startService(client: Client): Promise<Service> {
  const streams = new Streams(client)
  const server = createServer((request, response) => {
    answer(request, response).catch(error => {
      response.writeHead(error instanceof Refusal ? error.status : 500).end(String(error))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/'
    switch (`${request.method} ${path === '/' ? '/' : '/stream'}`) {
      case 'GET /': {
        const { name, capabilities } = client
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ name, capabilities }))
        return
      }
      case 'DELETE /':
        response.writeHead(204, { connection: 'close' }).end()
        return close()
      case 'POST /':
        response.writeHead(201, { location: url + streams.create(await jsonOf(request)) }).end()
        return
      case 'POST /stream':
        streams.command(path, await jsonOf(request))
        response.writeHead(202).end()
        return
      case 'DELETE /stream':
        await streams.remove(path)
        response.writeHead(204).end()
        return
      default:
        throw new Refusal(405, `${request.method} ${path}`)
    }
  }

  async function close(): Promise<void> {
    server.close()
    await streams.removeAll()
    server.closeIdleConnections()
  }

  return { url, close }
}

/** An answer that is not 2xx. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

interface Entry {
  stream: Stream
  callbacks: Callbacks
}

/** The streams that the harness has begun and not yet closed, by their path. */
class Streams {
  #created = 0
  readonly #entries = new Map<string, Entry>()
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  create(given: unknown): string {
    const parameters = given as StreamParameters & { callbackUrl: string }
    const callbacks = new Callbacks(parameters.callbackUrl)
    const path = `/streams/${++this.#created}`
    this.#entries.set(path, { callbacks, stream: this.#start(parameters, callbacks) })
    return path
  }

  #start(parameters: StreamParameters, callbacks: Callbacks): Stream {
    try {
      return this.#client.start(parameters, callbacks.tell)
    } catch (error) {
      throw new Refusal(400, String(error), { cause: error })
    }
  }

  command(path: string, given: unknown): void {
    const { stream } = this.#get(path)
    const { command, listen } = given as { command: string; listen?: { type: string } }
    if (command === 'restart') stream.restart()
    else if (command === 'listen' && listen !== undefined) stream.listen(listen.type)
    else throw new Refusal(400, `no command ${command}`)
  }

  async remove(path: string): Promise<void> {
    const { stream, callbacks } = this.#get(path)
    this.#entries.delete(path)
    callbacks.close()
    await stream.close()
  }

  async removeAll(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map(path => this.remove(path)))
  }

  #get(path: string): Entry {
    const entry = this.#entries.get(path)
    if (entry === undefined) throw new Refusal(404, `no stream ${path}`)
    return entry
  }
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  try {
    return await json(request)
  } catch (error) {
    throw new Refusal(400, 'the body is not JSON', { cause: error })
  }
}
