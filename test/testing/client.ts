import { connect, type Socket } from 'node:net'
import { Agent, fetch } from 'undici'

export interface Received {
  status: number
  headers: Headers
  /** What arrived before the end, as UTF-8. */
  text: string
  bytes: Buffer
  /** The chunks as the network gave them. */
  chunks: Buffer[]
  /** The error that ended the body; undefined for a clean end. */
  error: Error | undefined
  /** Of its cause: `ECONNRESET`, or `UND_ERR_SOCKET` for a FIN in the middle. */
  code: string | undefined
}

export interface Parsed {
  id: string | undefined
  event: string | undefined
  data: string | undefined
}

/** Reads a whole body and says how it ended. */
export async function read(
  url: string,
  {
    id,
    forMs,
    ...init
  }: { id?: string; forMs?: number; method?: string; body?: string; keepAlive?: boolean } = {},
): Promise<Received> {
  const dispatcher = new Agent({ bodyTimeout: 0, headersTimeout: 0, connect: { rejectUnauthorized: false } })
  const headers = id === undefined ? {} : { 'last-event-id': Buffer.from(id).toString('latin1') }
  const chunks: Buffer[] = []
  let error: Error | undefined
  try {
    const response = await fetch(url, {
      ...init,
      headers,
      dispatcher,

      redirect: 'manual',
    })
    try {
      for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk))
    } catch (cause) {
      error = cause as Error
    }
    const bytes = Buffer.concat(chunks)
    const fields = response.headers as unknown as Headers
    return {
      status: response.status,
      headers: fields,
      text: bytes.toString('utf8'),
      bytes,
      chunks,
      error,
      code: (error?.cause as { code?: string } | undefined)?.code,
    }
  } finally {
    await dispatcher.destroy()
  }
}

/** The complete blocks of a body, field by field. Strict and simple: LF, CRLF or CR, no defaults. */
export function parse(text: string): Parsed[] {
  const blocks = text.replace(/\r\n|\r/g, '\n').split('\n\n')
  return blocks.slice(0, -1).flatMap(block => {
    const lines = block.split('\n').filter(line => line !== '' && !line.startsWith(':'))
    if (lines.length === 0) return []
    const values = (name: string) =>
      lines.filter(line => line.startsWith(`${name}: `)).map(line => line.slice(name.length + 2))
    const data = values('data')
    return [
      {
        id: values('id')[0],
        event: values('event')[0],
        data: data.length === 0 ? undefined : data.join('\n'),
      },
    ]
  })
}

/** A bare socket that has sent a GET request, for what a client library would hide. */
export function dial(port: number, request = 'GET /events HTTP/1.1\r\nHost: test\r\n\r\n'): Dial {
  const socket = connect({ port, host: '127.0.0.1' })
  const dialled: Dial = { socket, text: '', code: undefined, ended: false, closed: Promise.resolve() }
  socket.setEncoding('latin1')
  socket.on('data', data => {
    dialled.text += data
  })
  socket.on('end', () => {
    dialled.ended = true
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    dialled.code = error.code
  })
  dialled.closed = new Promise(resolve => socket.once('close', () => resolve()))
  socket.write(request, 'latin1')
  return dialled
}

export interface Dial {
  socket: Socket
  text: string
  /** `ECONNRESET`, `ECONNREFUSED` …; undefined without an error. */
  code: string | undefined
  /** A FIN came. */
  ended: boolean
  closed: Promise<void>
}

export const sleep = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

/** Waits until something is true, generously. */
export async function until(isTrue: () => boolean, timeoutMs = 5000): Promise<void> {
  for (const end = performance.now() + timeoutMs; !isTrue(); await sleep(2))
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms for ${isTrue}`)
}
