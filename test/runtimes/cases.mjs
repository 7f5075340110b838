// Runs in Bun, Deno and Node, in a folder that has the package installed: `cases.mjs SERVER COUNTER UNUSED`, addresses of
// the fault server, of what counts its open streams, and of nobody. Prints a line for each case that passed, and ends with
// the first that did not.
import { ResilientSse, SseHttpError } from 'resilient-sse'
import { EventSource } from 'resilient-sse/eventsource'

const [address, counter, unused] = globalThis.Deno?.args ?? process.argv.slice(2)
const OPTIONS = { backoff: { baseMs: 20, maxMs: 100 }, heartbeat: { timeoutMs: 500 }, openTimeoutMs: 5_000 }
const COUNT = 20

function equal(actual, expected, what) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (a !== b) throw new Error(`${what}: ${a} instead of ${b}`)
}

const IDS = Array.from({ length: COUNT }, (_, index) => String(index + 1))

/** Reads a path to the end of the log; what it told on the way, by type and reason. */
async function readAll(path, options = {}) {
  const told = []
  const stream = new ResilientSse(address + path, {
    ...OPTIONS,
    ...options,
    onLifecycle: event =>
      told.push(event.reason === undefined ? event.type : `${event.type}: ${event.reason}`),
  })
  const ids = []
  for await (const { id } of stream) if (ids.push(id) === COUNT) break
  equal(ids, IDS, path)
  return told
}

const openStreams = async () => Number(await (await fetch(counter)).text())

async function until(holds, what) {
  for (const end = Date.now() + 5_000; Date.now() < end; ) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error(`not within 5 s: ${what}`)
}

const cases = {
  async 'a stream opens and is read'() {
    equal(await readAll('/healthy'), ['dial', 'open', 'close: closed'], 'told')
  },
  async 'a reset is resumed from'() {
    equal((await readAll('/reset')).filter(told => told === 'dial').length, 2, 'dials')
  },
  async 'an event that was cut in half comes whole'() {
    await readAll('/half')
  },
  async 'a 503 after a reset is retried'() {
    equal((await readAll('/503')).includes('drop: refused'), true, 'the refusal was told')
  },
  async 'silence is noticed'() {
    equal((await readAll('/silent')).includes('drop: silence'), true, 'the silence was told')
  },
  async 'a replayed event is not delivered again'() {
    equal((await readAll('/replay')).includes('duplicate'), true, 'the duplicates were told')
  },
  async 'a final status is a typed error'() {
    const error = await readAll('/404').catch(caught => caught)
    equal([error instanceof SseHttpError, error.code, error.status], [true, 'ERR_SSE_HTTP', 404], 'error')
  },
  async 'a port that nobody listens on is a typed error'() {
    const stream = new ResilientSse(unused, {
      ...OPTIONS,
      backoff: { maxAttempts: 2, baseMs: 1 },
    })
    const error = await stream[Symbol.asyncIterator]()
      .next()
      .catch(caught => caught)
    equal([error.code, error.retryable], ['ERR_SSE_NETWORK', true], 'error')
    equal(
      error.message.includes('CORS'),
      false,
      `there are no pages here, and "${error.message}" speaks of CORS`,
    )
  },
  async 'close() frees the connection'() {
    const stream = new ResilientSse(`${address}/healthy`, OPTIONS)
    const events = stream[Symbol.asyncIterator]()
    await events.next()
    equal(await openStreams(), 1, 'open')
    await stream.close()
    await until(async () => (await openStreams()) === 0, 'closed')
  },
  async 'EventSource survives a reset'() {
    const source = new EventSource(`${address}/es-reset`, OPTIONS)
    const ids = []
    const told = []
    source.onopen = () => told.push('open')
    source.onerror = ({ error }) => told.push(error.code)
    source.onmessage = ({ lastEventId }) => ids.push(lastEventId)
    await until(() => ids.length >= COUNT, 'all events')
    source.close()
    equal(ids, IDS, 'ids')
    equal(told.filter(one => one === 'open').length, 2, 'opened twice')
  },
}

for (const [name, run] of Object.entries(cases)) {
  try {
    await run()
  } catch (error) {
    console.error(`failed: ${name}\n`, error)
    globalThis.Deno ? Deno.exit(1) : process.exit(1)
  }
  console.log(`  ${name}`)
}
