// A stream that can be resumed, on Hono: npm install hono @hono/node-server, then node hono.mjs
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Feed, lastEventIdOf } from './feed.mjs'

const { PORT = '8080', FEED = '{"file":"events.journal"}' } = process.env
const feed = new Feed(JSON.parse(FEED))

const app = new Hono()

app.get('/events', c => {
  const asked = lastEventIdOf(c.req.header('last-event-id'), c.req.query('lastEventId'))
  const { status, headers, body } = feed.subscribe(asked)
  return new Response(typeof body === 'string' ? body : toWeb(body), { status, headers })
})

// Stands for whatever makes events in your application.
app.post('/events', async c => c.json({ id: feed.publish({ data: await c.req.text() }) }, 202))

/**
 * Pulled, never pushed: nothing is asked of the feed while the client does not read.
 * @param {import('./subscription.mjs').Subscription} body
 */
function toWeb(body) {
  const encoder = new TextEncoder()
  const start = (/** @type {ReadableStreamDefaultController} */ controller) => {
    // Makes node-server destroy the connection, and log this.
    body.onCut = () => controller.error(new Error('Reads too slowly'))
  }
  const pull = async (/** @type {ReadableStreamDefaultController} */ controller) => {
    const { done, value } = await body.next()
    if (done) controller.close()
    else controller.enqueue(encoder.encode(value))
  }
  const cancel = async () => void (await body.return())
  return new ReadableStream({ start, pull, cancel }, { highWaterMark: 0 })
}

const server = serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' })

process.once('SIGTERM', async () => {
  server.close() // no new connections
  await feed.end() // the old ones, in waves
  if ('closeAllConnections' in server) server.closeAllConnections() // what is left is idle, or does not read
})
