// A stream that can be resumed, on Fastify: npm install fastify, then node fastify.mjs
import { Readable } from 'node:stream'
import Fastify from 'fastify'
import { Feed, lastEventIdOf } from './feed.mjs'

const { PORT = '8080', FEED = '{"file":"events.journal"}' } = process.env
const feed = new Feed(JSON.parse(FEED))

// `true`: what is left after the hook below is idle, or does not read.
const app = Fastify({ forceCloseConnections: true })
app.addContentTypeParser('*', { parseAs: 'string' }, (_request, /** @type {string} */ body, done) =>
  done(null, body),
)

/** @typedef {{ Querystring: { lastEventId?: string } }} Stream */
app.get('/events', (/** @type {import('fastify').FastifyRequest<Stream>} */ request, reply) => {
  const asked = lastEventIdOf(request.headers['last-event-id'], request.query.lastEventId)
  const { status, headers, body } = feed.subscribe(asked)
  reply.code(status).headers(headers)
  if (typeof body === 'string') return reply.send(body)
  body.onCut = () => reply.raw.destroy()
  // A stream of Node's keeps Fastify's hooks (CORS, logs), which reply.hijack() would skip. Fastify pipes it, with
  // back-pressure, and destroys it when the client leaves. It reads one chunk ahead, not the usual sixteen; the first
  // is there at once, and the headers leave with it.
  return reply.send(Readable.from(body, { highWaterMark: 1 }))
})

// Stands for whatever makes events in your application.
app.post('/events', (/** @type {import('fastify').FastifyRequest<{ Body: string }>} */ request, reply) => {
  reply.code(202).send({ id: feed.publish({ data: request.body }) })
})

// Runs while the server still listens; without it close() would wait for streams that never end.
app.addHook('preClose', () => feed.end())

await app.listen({ port: Number(PORT), host: '127.0.0.1' })

process.once('SIGTERM', () => app.close())
