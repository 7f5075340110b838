// One client, one stream: counts what it receives and tells the CPU time from the first event to the last.
const [client, url, count] = process.argv.slice(2)
const events = Number(count)
const result = { count: 0, chars: 0, last: '' }
let startedAt

function onEvent(data) {
  if (startedAt === undefined) startedAt = process.cpuUsage()
  result.chars += data.length
  if (++result.count < events) return
  const { user, system } = process.cpuUsage(startedAt)
  process.send({ ...result, last: data, cpuNs: (user + system) * 1_000 }, () => process.exit())
}

const CLIENTS = {
  async 'resilient-sse'() {
    const { ResilientSse } = await import('../../dist/index.js')
    for await (const event of new ResilientSse(url)) onEvent(event.data)
  },
  async 'resilient-sse batches'() {
    const { ResilientSse } = await import('../../dist/index.js')
    for await (const batch of new ResilientSse(url).batches()) for (const event of batch) onEvent(event.data)
  },
  async eventsource() {
    const { EventSource } = await import('eventsource')
    new EventSource(url).onmessage = event => onEvent(event.data)
  },
  async 'eventsource-client'() {
    const { createEventSource } = await import('eventsource-client')
    createEventSource({ url, onMessage: event => onEvent(event.data) })
  },
  async floor() {
    const { fetch } = await import('undici')
    const { createParser } = await import('eventsource-parser')
    const decoder = new TextDecoder()
    const parser = createParser({ onEvent: event => onEvent(event.data) })
    const response = await fetch(url)
    for await (const chunk of response.body) parser.feed(decoder.decode(chunk, { stream: true }))
  },
}
await CLIENTS[client]()
