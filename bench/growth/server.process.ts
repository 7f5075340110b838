// One stream of any number of events, each with an id of its own, from a buffer that is written again and again.
import { createServer, type Socket } from 'node:net'
import { chunk, STREAM_HEAD, write } from '../measure/socket.ts'
import { Stream, type StreamSpec } from '../throughput/stream.ts'

/** Events in the buffer. */
const PER_PASS = 50_000
const CHUNK_BYTES = 65_536

const spec = JSON.parse(process.argv[2] as string) as StreamSpec
const stream = new Stream(spec)
const events = Array.from({ length: PER_PASS }, (_, index) => stream.text(index)).join('')
const chunks: Buffer[] = []
for (let at = 0; at < events.length; at += CHUNK_BYTES) {
  const text = events.slice(at, at + CHUNK_BYTES)
  chunks.push(Buffer.from(chunk(text)))
}
const prepared = Buffer.concat(chunks)

/** Where the pass is written into each id, in place of the group before the last. */
const PASS = '-8def-'
const places: number[] = []
for (let at = prepared.indexOf(PASS); at !== -1; at = prepared.indexOf(PASS, at + 1)) places.push(at + 1)

async function answer(socket: Socket): Promise<void> {
  socket.write(STREAM_HEAD)
  for (let pass = 0; pass * PER_PASS < spec.events && !socket.destroyed; pass++) {
    const bytes = Buffer.from(prepared)
    const mark = (0x8000 + pass).toString(16)
    for (const place of places) bytes.write(mark, place, 'latin1')
    await write(socket, bytes)
  }
}

const server = createServer(socket => {
  socket.on('error', () => {})
  socket.once('data', () => void answer(socket))
})
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as { port: number }).port}/` })
})
process.once('disconnect', () => process.exit())
