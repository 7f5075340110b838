// Many streams, one a path. Each is greeted; everything else happens by order.
import { createServer, type Socket } from 'node:net'
import { chunk, STREAM_HEAD, write } from '../measure/socket.ts'
import { frameOf, GREETING } from './frames.ts'
import type { Order } from './orders.ts'

const TICK_MS = 10

/** By the number in the path. */
const sockets: Socket[] = []
/** Of each stream: how many frames it was sent. */
const sent: number[] = []
let timer: NodeJS.Timeout | undefined

const COMMENT = chunk(':\n\n')

const server = createServer(socket => {
  socket.on('error', () => {})
  socket.setNoDelay()
  socket.on('data', bytes => {
    const path = /^GET \/(\d+) /.exec(bytes.toString('latin1'))?.[1]
    if (path === undefined) return
    sockets[Number(path)] = socket
    sent[Number(path)] = 0
    socket.write(STREAM_HEAD + chunk(`data: ${GREETING}\n\n`))
  })
})

/** Calls `each` so many times a second, with every stream in turn, so that all are served at a steady pace. */
function inTurn(perSecond: number, each: (stream: number) => void): void {
  let next = 0
  let owed = 0
  let last = performance.now()
  timer = setInterval(() => {
    const now = performance.now()
    owed += ((now - last) / 1_000) * perSecond
    last = now
    for (; owed >= 1; owed--) each(next++ % sockets.length)
  }, TICK_MS)
}

/** The next ones of a stream, in one chunk. */
function framesOf(stream: number, frames: number): string {
  let text = ''
  for (let i = 0; i < frames; i++) text += frameOf(stream, (sent[stream] as number)++)
  return chunk(text)
}

process.on('message', (order: Order) => {
  clearInterval(timer)
  switch (order.do) {
    case 'quiet':
      return
    case 'comments':
      return inTurn((sockets.length * 1_000) / order.everyMs, stream => sockets[stream]?.write(COMMENT))
    case 'frames':
      return inTurn(order.perSecond, stream => {
        if ((sent[stream] as number) < order.each) sockets[stream]?.write(framesOf(stream, 1))
      })
    case 'bursts':
      return burst(order.each, order.ofFrames)
  }
})

/** Bursts for every stream in turn, as fast as the clients read. */
async function burst(each: number, ofFrames: number): Promise<void> {
  for (let done = 0; done < each; done += ofFrames) {
    for (const [stream, socket] of sockets.entries()) {
      await write(socket, framesOf(stream, Math.min(ofFrames, each - done)))
    }
  }
}

// All loopback addresses: one alone has not enough ports for all streams of all rounds.
server.listen({ host: '0.0.0.0', port: 0, backlog: 4_096 }, () => {
  process.send?.({ port: (server.address() as { port: number }).port })
})
process.once('disconnect', () => process.exit())
