// The figures of the README's table, measured anew: npm run build && node docs/examples/five-failures.mjs
// Takes four minutes, because it waits for real silences. Row 1 needs a network to cut: npm run test:netns.
import { ResilientSse } from 'resilient-sse'
import {
  answer,
  cut,
  cutInside,
  FaultServer,
  flapping,
  follow,
  heartbeats,
  ignoreId,
  reset,
  rest,
  send,
  silence,
} from 'resilient-sse/testing'

const percentile = (values, share) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]

/** Row 2: from the last byte of the server to the verdict. */
async function silent(name, before, heartbeat) {
  const server = await FaultServer.spawn({ log: { count: 2 }, script: [[send(1), ...before, silence()]] })
  let dead
  const onLifecycle = event => {
    if (event.type === 'stall' && event.phase === 'dead') dead = performance.now()
  }
  const stream = new ResilientSse(server.url, { onLifecycle, heartbeat })
  for await (const { id } of stream) if (id === server.log.idAt(1)) break
  const [fault] = await server.faults()
  console.log(`heartbeat: ${name}: ended after ${((dead - fault.at) / 1_000).toFixed(1)} s of silence`)
  await server.close()
}

/** Row 3: 200 connections that die in one of four ways, and what arrived. */
async function broken() {
  const deaths = [reset(), cut(), cutInside('event'), cutInside('character')]
  const script = Array.from({ length: 200 }, (_, index) => [send(20), deaths[index % 4]])
  const server = await FaultServer.spawn({ log: { count: 4_200 }, script })
  const recovered = []
  let lostAt
  const onLifecycle = event => {
    if (event.type === 'drop') lostAt = performance.now()
  }
  let count = 0
  let wrong = 0
  for await (const { id, data } of new ResilientSse(server.url, { onLifecycle })) {
    const sent = server.log.at(count)
    if (id !== sent.id || data !== sent.data) wrong++
    if (lostAt !== undefined) recovered.push(performance.now() - lostAt)
    lostAt = undefined
    if (++count === server.log.length) break
  }
  const ms = share => percentile(recovered, share).toFixed(0)
  console.log(
    `resume: ${count} of ${server.log.length} events after ${recovered.length} broken connections, ${wrong} wrong; ` +
      `the next event after ${ms(0.5)} ms in the median, ${ms(1)} ms at most`,
  )
  await server.close()
}

/** Row 4: dials within ten seconds. */
async function trouble(name, otherwise) {
  const dials = []
  const cases = [{ breaker: { onOpen: 'wait' } }, { backoff: false, breaker: false }]
  for (const options of cases) {
    const server = await FaultServer.spawn({ log: { count: 100_000, bytes: 20 }, otherwise })
    const stream = new ResilientSse(server.url, options)
    setTimeout(() => stream.close(), 10_000)
    for await (const _ of stream);
    dials.push(stream.stats().tcp.dials)
    await server.close()
  }
  console.log(`backoff: ${name}: ${dials[0]} dials in 10 s, ${dials[1]} without layer 4`)
}

/** Row 5: a server that sends all of its 50,000 events again. */
async function replayed(dedupe) {
  const server = await FaultServer.spawn({
    log: { count: 50_000, bytes: 20 },
    script: [
      [rest(), cut()],
      [ignoreId(), follow()],
    ],
  })
  const seen = new Set()
  let twice = 0
  let openedAt = 0
  const onLifecycle = ({ type }) => {
    if (type === 'open') openedAt = performance.now()
  }
  for await (const { id } of new ResilientSse(server.url, { onLifecycle, dedupe })) {
    if (seen.has(id)) twice++
    seen.add(id)
    if (seen.size === 50_000 && twice === 0) void server.push({ id: 'news', data: 'news' })
    if (id === 'news') break
  }
  const tookMs = (performance.now() - openedAt).toFixed(0)
  const which = dedupe === false ? 'switched off' : 'on'
  console.log(`dedupe: ${which}: ${twice} of 50,000 replayed events delivered twice, ${tookMs} ms`)
  await server.close()
}

await broken()
await trouble('503', [answer(503)])
await trouble('an event, then the end', flapping('event'))
await trouble('a greeting, then a reset', flapping('greeting'))
await trouble('retry: 0 and an error event, then the end', flapping('error'))
await replayed(undefined)
await replayed(false)
await Promise.all([
  silent('a comment every 15 s, then nothing', [heartbeats({ everyMs: 15_000, count: 3 })]),
  silent('not one comment, with a probe', [], { probe: { send: () => {} } }),
  silent('not one comment', []),
])
