// The server of the cycles: endless streams that can be resumed at any event, one event every few milliseconds.
import { createServer } from 'node:http'
import { eventText, numberOf } from './stream.ts'

const PACE_MS = 10

/** Per stream: the Last-Event-ID of each of its requests, in order; raw fetches are not counted. */
const resumed = new Map<number, (string | null)[]>()

const server = createServer((request, response) => {
  const stream = Number(request.url?.slice(1))
  const lastEventId = (request.headers['last-event-id'] as string | undefined) ?? null
  if (request.headers['x-raw'] === undefined) {
    const own = resumed.get(stream) ?? []
    own.push(lastEventId)
    resumed.set(stream, own)
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let next = lastEventId === null ? 0 : numberOf(lastEventId) + 1
  const send = () => {
    if (!response.writableNeedDrain) response.write(eventText(stream, next++))
  }
  send()
  const timer = setInterval(send, PACE_MS)
  response.on('close', () => clearInterval(timer))
})

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }))
process.on('message', () => process.send?.(resumed))
process.once('disconnect', () => process.exit())
