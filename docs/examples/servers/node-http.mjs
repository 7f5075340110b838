// A stream that can be resumed, on node:http alone: node node-http.mjs, then
//   curl -N http://127.0.0.1:8080/events
//   curl -d 'hello' http://127.0.0.1:8080/events
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Feed, lastEventIdOf, send } from './feed.mjs'

const { PORT = '8080', FEED = '{"file":"events.journal"}' } = process.env
const feed = new Feed(JSON.parse(FEED))

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  if (pathname !== '/events') {
    response.writeHead(404).end()
  } else if (request.method === 'POST') {
    // Stands for whatever makes events in your application.
    const id = feed.publish({ data: await text(request) })
    response.writeHead(202, { 'Content-Type': 'application/json' }).end(JSON.stringify({ id }))
  } else {
    const asked = lastEventIdOf(request.headers['last-event-id'], searchParams.get('lastEventId'))
    await send(response, feed.subscribe(asked))
  }
})
server.listen(Number(PORT), '127.0.0.1')

process.once('SIGTERM', async () => {
  server.close() // no new connections
  await feed.end() // the old ones, in waves
  server.closeAllConnections() // what is left is idle, or does not read
})
