// Streams with nothing but heartbeats, in a rhythm that wavers, and a log of every write.
import { createServer } from 'node:http'
import { EVERY_MS, WAVER } from './rhythm.ts'

/** Per stream: when it was written to, in epoch milliseconds. */
const writes = new Map<number, number[]>()
let silent = false

const server = createServer((request, response) => {
  const stream = Number(request.url?.slice(1))
  const log = writes.get(stream) ?? []
  writes.set(stream, log)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  let timer: NodeJS.Timeout | undefined
  const beat = () => {
    if (silent) return
    response.write(':\n\n')
    log.push(performance.timeOrigin + performance.now())
    timer = setTimeout(beat, EVERY_MS * (1 - WAVER + 2 * WAVER * Math.random()))
  }
  beat()
  response.on('close', () => clearTimeout(timer))
})

server.listen({ host: '127.0.0.1', port: 0, backlog: 1_024 }, () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as { port: number }).port}` })
})
process.on('message', order => {
  if (order === 'silence') silent = true
  process.send?.(writes)
})
process.once('disconnect', () => process.exit())
