import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, bytesOf, type Case, type Piece } from './cases/case.ts'

/** One request, as it came over the socket. */
export interface RecordedDial {
  /** `performance.now()` when its head was complete. */
  at: number
  method: string
  /** Path and query. */
  target: string
  /** In order, names as they were written, values decoded as UTF-8. */
  headers: [name: string, value: string][]
  body: string
}

export interface SpecServerOptions {
  /** Added to every response: a page of another origin needs `Access-Control-Allow-Origin`. */
  headers?: Record<string, string>
  /** Answers OPTIONS with 204 and these headers; such a request is no dial. Default: OPTIONS is a dial as any other. */
  preflight?: Record<string, string>
}

/**
 * How the bytes of a body are cut into chunks: as the case says, all in one, one byte each, or in two at this byte. A
 * pause of the case stays where it is.
 */
export type Cut = 'case' | 'whole' | 'bytes' | number

/**
 * Serves cases, byte for byte, from a bare socket: `/case/<id>?run=<n>&cut=<cut>` answers as the case says for its first
 * dial, its second and so on, counted for each run by itself. Each chunk is one of HTTP's chunked coding and one write.
 */
export class SpecServer implements AsyncDisposable {
  readonly #server: Server
  readonly #cases: ReadonlyMap<string, Case>
  readonly #options: SpecServerOptions
  readonly #dials = new Map<string, RecordedDial[]>()
  readonly #sockets = new Set<Socket>()

  private constructor(cases: readonly Case[], options: SpecServerOptions) {
    this.#cases = new Map(cases.map(one => [one.id, one]))
    this.#options = options
    this.#server = createServer({ noDelay: true }, socket => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      // The client leaves whenever it likes.
      socket.on('error', () => {})
      void this.#serve(socket)
    })
  }

  static async start(cases: readonly Case[], options: SpecServerOptions = {}): Promise<SpecServer> {
    const server = new SpecServer(cases, options)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get origin(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the server has no port')
    return `http://127.0.0.1:${address.port}`
  }

  url(id: string, run: number | string, cut: Cut = 'case'): string {
    return `${this.origin}/case/${id}?run=${run}&cut=${cut}`
  }

  /** The dials of one run so far. */
  dials(id: string, run: number | string): readonly RecordedDial[] {
    return this.#dials.get(keyOf(id, String(run))) ?? []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** One request per connection. */
  async #serve(socket: Socket): Promise<void> {
    const request = await readRequest(socket)
    if (request === undefined) return
    const url = new URL(request.target, this.origin)
    const id = url.pathname.replace('/case/', '')
    const found = this.#cases.get(id)
    if (request.method === 'OPTIONS' && this.#options.preflight !== undefined) {
      return this.#send(socket, 204, Object.entries(this.#options.preflight))
    }
    if (found === undefined) return this.#send(socket, 404, [])
    const key = keyOf(id, url.searchParams.get('run') ?? '')
    const dials = this.#dials.get(key) ?? []
    this.#dials.set(key, dials)
    dials.push(request)
    const answer = found.answers[dials.length - 1]
    // Nobody should dial this often: the record says so, and this ends it.
    if (answer === undefined) return this.#send(socket, 204, [])
    const cut = url.searchParams.get('cut') ?? 'case'
    await this.#answer(socket, request, answer, /^\d+$/.test(cut) ? Number(cut) : (cut as Cut))
  }

  #send(socket: Socket, status: number, headers: readonly [string, string][]): void {
    const length: [string, string][] = status === 204 ? [] : [['Content-Length', '0']]
    socket.end(this.#head(status, [...headers, ...length]))
  }

  #head(status: number, headers: readonly [string, string][]): string {
    const all = [...headers, ...Object.entries(this.#options.headers ?? {}), ['Connection', 'close']]
    return `HTTP/1.1 ${status} Spec\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  }

  async #answer(socket: Socket, request: RecordedDial, answer: Answer, cut: Cut): Promise<void> {
    if (answer.end === 'refuse') {
      socket.resetAndDestroy()
      return
    }
    if (answer.delayMs !== undefined) await sleep(answer.delayMs)
    const { status = 200, contentType = status === 200 ? 'text/event-stream' : null } = answer
    const headers = (answer.headers ?? []).map(([name, value]): [string, string] => [
      name,
      value.replace('{here}', request.target).replace('{origin}', this.origin),
    ])
    if (contentType !== null) headers.unshift(['Content-Type', contentType])
    const isStream = status === 200 && /^text\/event-stream/i.test(contentType ?? '')
    const { body = [], end = isStream ? 'hold' : 'clean' } = answer
    if (body.length === 0 && end === 'clean') return this.#send(socket, status, headers)
    socket.write(this.#head(status, [...headers, ['Transfer-Encoding', 'chunked']]))
    await writeBody(socket, body, cut)
    if (end === 'clean') socket.end('0\r\n\r\n')
    if (end === 'cut') socket.end()
    if (end === 'reset') socket.resetAndDestroy()
  }
}

function keyOf(id: string, run: string): string {
  return `${id}?${run}`
}

/** The request with as much body as its Content-Length says; `undefined` when the client left before. */
function readRequest(socket: Socket): Promise<RecordedDial | undefined> {
  return new Promise(resolve => {
    let received = Buffer.alloc(0)
    socket.on('close', () => resolve(undefined))
    // Read to the end of the connection, so that its end is noticed.
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      const end = received.indexOf('\r\n\r\n')
      if (end === -1) return
      const request = parseHead(received.subarray(0, end).toString('utf8'))
      const length = Number(request.headers.find(([name]) => /^content-length$/i.test(name))?.[1] ?? 0)
      const body = received.subarray(end + 4)
      if (body.length >= length) resolve({ ...request, body: body.toString('utf8') })
    })
  })
}

function parseHead(head: string): RecordedDial {
  const [requestLine = '', ...lines] = head.split('\r\n')
  const [method = '', target = ''] = requestLine.split(' ')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  return { at: performance.now(), method, target, headers, body: '' }
}

async function writeBody(socket: Socket, body: readonly Piece[], cut: Cut): Promise<void> {
  for (const part of cutBody(body, cut)) {
    if (socket.destroyed) return
    if (typeof part === 'number') await sleep(part)
    else if (!socket.write(framed(part))) await drained(socket)
  }
}

/** Room for more, or nobody left to read it. */
function drained(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      socket.off('drain', done)
      socket.off('close', done)
      resolve()
    }
    socket.on('drain', done)
    socket.on('close', done)
  })
}

/** Chunks, and pauses as numbers. */
export function cutBody(body: readonly Piece[], cut: Cut): (Uint8Array | number)[] {
  const parts = body.map(piece => {
    if (Array.isArray(piece)) return Buffer.concat(piece.map(bytesOf))
    return typeof piece === 'object' && 'pauseMs' in piece ? piece.pauseMs : bytesOf(piece)
  })
  if (cut === 'case') return parts
  const joined: (Uint8Array | number)[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (typeof part === 'number' || last === undefined || typeof last === 'number') joined.push(part)
    else joined[joined.length - 1] = Buffer.concat([last, part])
  }
  if (cut === 'whole') return joined
  let at = 0
  return joined.flatMap((part): (Uint8Array | number)[] => {
    if (typeof part === 'number') return [part]
    if (cut === 'bytes') return Array.from(part, byte => Uint8Array.of(byte))
    const here = cut - at
    at += part.length
    return here > 0 && here < part.length ? [part.subarray(0, here), part.subarray(here)] : [part]
  })
}

/** One chunk of HTTP's chunked coding. */
function framed(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}
