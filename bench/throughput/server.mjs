// Streams a prepared buffer to each client, one 64 KiB chunk a write, and then stays open.
import { createServer } from 'node:http'
import { eventText } from './stream.mjs'

const events = Number(process.argv[2])
const CHUNK_BYTES = 65_536

const chunks = []
let text = ''
for (let index = 0; index < events; index++) {
  text += eventText(index)
  if (text.length >= CHUNK_BYTES) {
    chunks.push(Buffer.from(text.slice(0, CHUNK_BYTES)))
    text = text.slice(CHUNK_BYTES)
  }
}
chunks.push(Buffer.from(text))

const server = createServer(async (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const chunk of chunks) {
    if (!response.write(chunk)) await writable(response)
    if (response.closed) return
  }
})
/** Resolves on 'drain', or when the client has gone. */
function writable(response) {
  return new Promise(resolve => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
}

server.listen(0, '127.0.0.1', () => process.send({ url: `http://127.0.0.1:${server.address().port}/` }))
process.once('disconnect', () => process.exit())
