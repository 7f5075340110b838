// Streams a prepared buffer to each client and then stays open. The HTTP is prepared, too, so that chunks are what the
// cell says and writing them costs next to nothing.
import { createServer, type Socket } from 'node:net'
import { STREAM_HEAD, write } from '../measure/socket.ts'
import { Stream, type StreamSpec } from './stream.ts'

const spec = JSON.parse(process.argv[2] as string) as StreamSpec
const stream = new Stream(spec)

/** The least above the 100 ms that some clients take for no pace at all. */
const RETRY = 'retry: 101\n\n'
const LAST_CHUNK = '0\r\n\r\n'
/** Of one write: large enough that the client is never waited for. */
const WRITE_BYTES = 1_048_576

const first = spec.before > 0 ? prepare(RETRY, 0, spec.before) : []
const rest = prepare('', spec.before, spec.events)

/** The events from one to another as chunked HTTP. */
function prepare(prologue: string, from: number, to: number): Buffer[] {
  const writes: Buffer[] = []
  const { chunk } = spec
  let framed: Buffer[] = []
  let framedBytes = 0
  const frame = (body: Buffer) => {
    framed.push(Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n'))
    framedBytes += body.length
    if (framedBytes >= WRITE_BYTES) flush()
  }
  const flush = () => {
    if (framed.length > 0) writes.push(Buffer.concat(framed))
    framed = []
    framedBytes = 0
  }
  let waiting: Buffer[] = [Buffer.from(prologue)]
  let waitingBytes = prologue.length
  for (let index = from; index < to; index++) {
    const event = Buffer.from(stream.text(index))
    waiting.push(event)
    waitingBytes += event.length
    if (chunk !== 'event' && waitingBytes < Math.max(chunk, WRITE_BYTES / 16)) continue
    const bytes = Buffer.concat(waiting)
    const size = chunk === 'event' ? bytes.length : chunk
    let at = 0
    for (; at + size <= bytes.length; at += size) frame(bytes.subarray(at, at + size))
    waiting = [bytes.subarray(at)]
    waitingBytes = bytes.length - at
  }
  if (waitingBytes > 0) frame(Buffer.concat(waiting))
  flush()
  return writes
}

const server = createServer(socket => {
  socket.on('error', () => {})
  let request = ''
  socket.on('data', bytes => {
    request += bytes.toString('latin1')
    if (!request.includes('\r\n\r\n')) return
    const id = /^last-event-id: *(.*?)\r$/im.exec(request)?.[1]
    request = ''
    void answer(socket, id)
  })
})

async function answer(socket: Socket, lastEventId: string | undefined): Promise<void> {
  if (spec.before > 0 && lastEventId === undefined) {
    await send(socket, first)
    socket.end(LAST_CHUNK)
  } else if (spec.before === 0 || lastEventId === stream.idOf(spec.before - 1)) {
    await send(socket, rest)
  } else {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
  }
}

async function send(socket: Socket, writes: Buffer[]): Promise<void> {
  socket.write(STREAM_HEAD)
  for (const bytes of writes) {
    if (socket.destroyed) return
    await write(socket, bytes)
  }
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  process.send?.({ url: `http://127.0.0.1:${port}/` })
})
process.once('disconnect', () => process.exit())
