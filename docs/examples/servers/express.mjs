// A stream that can be resumed, on Express: npm install express compression, then node express.mjs
import compression from 'compression'
import express from 'express'
import { Feed, lastEventIdOf, send } from './feed.mjs'

const { PORT = '8080', FEED = '{"file":"events.journal"}' } = process.env
const feed = new Feed(JSON.parse(FEED))

const app = express()
// Leaves the stream alone, because its Cache-Control says no-transform.
app.use(compression())

app.get('/events', (request, response) => {
  const { lastEventId } = request.query
  const parameter = typeof lastEventId === 'string' ? lastEventId : undefined
  return send(response, feed.subscribe(lastEventIdOf(request.headers['last-event-id'], parameter)))
})

// Stands for whatever makes events in your application.
app.post('/events', express.text({ type: () => true, limit: '1mb' }), (request, response) => {
  response.status(202).json({ id: feed.publish({ data: request.body }) })
})

const server = app.listen(Number(PORT), '127.0.0.1')

process.once('SIGTERM', async () => {
  server.close() // no new connections
  await feed.end() // the old ones, in waves
  server.closeAllConnections() // what is left is idle, or does not read
})
