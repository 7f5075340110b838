import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LifecycleEvent, ResilientSse, type ResilientSseOptions } from 'resilient-sse'
import { type ChaosFault, chaosRelay } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { ExampleServer, type Logged, publishSteadily } from './server.ts'

const FRAMEWORKS = ['node-http', 'express', 'fastify', 'hono', 'nestjs']

/** Quick, and no breaker: an outage of two seconds is part of these tests. */
const QUICK: ResilientSseOptions = {
  backoff: { baseMs: 20, maxMs: 200 },
  breaker: false,
  heartbeat: { timeoutMs: 1_000 },
  openTimeoutMs: 1_500,
}

/** All of them end a connection, so that each is met. */
const FAULTS: ChaosFault[] = [
  { do: 'reset' },
  { do: 'cut' },
  { do: 'cut', inside: 'event' },
  { do: 'stall' },
  { do: 'refuse', ms: [50, 300] },
  { do: 'blackhole', ms: 200, bytes: 'drop' },
]
const ROUNDS = 2

const sequence = (id: string) => Number(id.slice(id.indexOf('-') + 1))

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let waited = 0; !condition(); waited += 20) {
    if (waited > 20_000) throw new Error(`Not within 20 s: ${what}`)
    await sleep(20)
  }
}

/** A client that has its place from the start and collects everything. */
function collect(url: string, lastEventId: string) {
  const received: Logged[] = []
  const gaps: LifecycleEvent[] = []
  const stream = new ResilientSse(url, {
    ...QUICK,
    resume: { lastEventId, isNext: (previous, next) => sequence(next) === sequence(previous) + 1 },
    onLifecycle: event => {
      if (event.type === 'gap') gaps.push(event)
    },
  })
  const failed = (async () => {
    for await (const { id = '', data } of stream) received.push({ id, data })
  })().catch(error => error)
  return { received, gaps, stream, failed }
}

/** A plain HTTP client, to see what is sent as it is. */
async function get(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const sent = request(url, { headers, method, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const got = { response, text: '', close: () => sent.destroy() }
  response.on('error', () => {})
  response.setEncoding('utf8').on('data', chunk => {
    got.text += chunk
  })
  return got
}

describe.concurrent.each(FRAMEWORKS)('%s', name => {
  test('sends headers and a first id at once, uncompressed and unbuffered, and comments', async () => {
    await using server = await ExampleServer.start(name, { heartbeatMs: 300 })
    const id = await server.publish('before')
    const startedAt = performance.now()
    const got = await get(server.url, { 'accept-encoding': 'gzip, br' })
    const { response } = got
    expect(performance.now() - startedAt).toBeLessThan(1_000)
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toMatch(/^text\/event-stream/)
    expect(response.headers['cache-control']).toBe('no-cache, no-transform')
    expect(response.headers['x-accel-buffering']).toBe('no')
    expect(response.headers['content-encoding']).toBeUndefined()
    await until(() => got.text.split(': heartbeat\n\n').length > 3, 'three heartbeats')
    expect(got.text.startsWith(`retry: 2000\nid: ${id}\n\n`)).toBe(true)
    got.close()
    expect((await get(server.url, {}, 'HEAD')).response.statusCode).toBe(200)
    expect(server.output).toBe('')
  })

  test('goes on after the id asked for, in the header or else in the URL', async () => {
    await using server = await ExampleServer.start(name)
    const ids: string[] = []
    for (const data of ['a', 'b', 'c']) ids.push(await server.publish(data))
    const [a, b, c] = ids as [string, string, string]
    const events = (text: string) => [...text.matchAll(/^id: (.+)\ndata/gm)].map(([, id]) => id)

    const header = await get(`${server.url}?lastEventId=${a}`, { 'last-event-id': b })
    await until(() => events(header.text).length > 0, 'an event')
    expect(events(header.text)).toEqual([c])
    header.close()

    const parameter = await get(`${server.url}?lastEventId=${a}`)
    await until(() => events(parameter.text).length > 1, 'two events')
    expect(events(parameter.text)).toEqual([b, c])
    parameter.close()
  })

  test('answers an id that was evicted, or never given, with 410, which ends a loop', async () => {
    await using server = await ExampleServer.start(name, { maxEvents: 3 })
    const ids: string[] = []
    for (let number = 0; number < 5; number++) ids.push(await server.publish(String(number)))
    for (const lastEventId of [ids[0] as string, '0-1', 'nonsense', `${ids[0]}00`]) {
      const stream = new ResilientSse(server.url, { ...QUICK, resume: { lastEventId } })
      const error = await stream[Symbol.asyncIterator]()
        .next()
        .catch(error => error)
      expect(error).toMatchObject({ code: 'ERR_SSE_HTTP', status: 410 })
    }
    const gone = await get(server.url, { 'last-event-id': ids[0] as string })
    await once(gone.response, 'end')
    expect(gone.response.headers['cache-control']).toBe('no-store')
    expect(JSON.parse(gone.text)).toEqual({ error: 'evicted', oldest: ids[1], newest: ids[4] })

    // The oldest place is one that can be resumed from.
    const kept = collect(server.url, ids[1] as string)
    await until(() => kept.received.length === 3, 'the buffer')
    expect(kept.received.map(({ id }) => id)).toEqual(ids.slice(2))
    await kept.stream.close()
  })

  test('loses and doubles nothing when it is killed and started again', async () => {
    await using server = await ExampleServer.start(name, { retryMs: 150, endMs: 500 })
    const first = await server.publish('first')
    const client = collect(server.url, first)
    const stop = publishSteadily(server)
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      const { length } = client.received
      await until(() => client.received.length > length + 10, `events before ${signal}`)
      await server.kill(signal)
      await server.start()
    }
    await stop()
    const last = await server.publish('last')
    await until(() => client.received.at(-1)?.id === last, 'the last event')
    await client.stream.close()
    expect(await client.failed).toBeUndefined()
    const log = server.log()
    expect(client.received).toEqual(log.slice(1))
    expect(log.map(({ id }) => sequence(id))).toEqual(log.map((_, index) => index + 1))
    expect(log.length).toBeGreaterThan(30)
    expect(client.gaps).toEqual([])
    expect(client.stream.stats().tcp.opens).toBeGreaterThanOrEqual(4)
    expect(server.output).toBe('')
  })

  test('loses and doubles nothing behind a relay that breaks its connections', async () => {
    await using server = await ExampleServer.start(name, { retryMs: 150, heartbeatMs: 200 })
    const faults = FAULTS.map(fault => ({ ...fault, afterBytes: [0, 3_000] as const }))
    await using relay = await chaosRelay({ target: server.url, faults, seed: 20_301, rounds: ROUNDS })
    const client = collect(relay.url, await server.publish('first'))
    const stop = publishSteadily(server)
    await until(() => relay.connections.length > ROUNDS * FAULTS.length, 'a connection that is left alone')
    await stop()
    const last = await server.publish('last')
    await until(() => client.received.at(-1)?.id === last, 'the last event')
    await client.stream.close()
    expect(client.received).toEqual(server.log().slice(1))
    expect(client.gaps).toEqual([])
    // On a busy machine one may strike a connection that has just ended, or two.
    expect(new Set(relay.faults.map(({ fault }) => fault))).toEqual(new Set(FAULTS.map(fault => fault.do)))
    expect(client.stream.stats().tcp.drops).toBeGreaterThanOrEqual(FAULTS.length)
    expect(server.output).toBe('')
  })

  test('cuts a client that reads too slowly; the others miss nothing, and it is told when it comes back', async () => {
    await using server = await ExampleServer.start(name, { maxChars: 1_000_000 })
    const first = await server.publish('first')
    const slow = await get(server.url, { 'last-event-id': first })
    slow.response.pause()
    const quick = collect(server.url, first)
    await until(() => quick.stream.state === 'open', 'the quick client')
    const ids: string[] = []
    // More than the kernel's buffers hold.
    for (let number = 0; number < 240; number++) ids.push(await server.publish('x'.repeat(100_000)))
    await until(() => quick.received.length === ids.length, 'everything, at the quick client')
    expect(quick.received.map(({ id }) => id)).toEqual(ids)

    slow.response.resume()
    // Not once(), which would reject: an end that is no clean one is an error, too.
    await new Promise(resolve => slow.response.on('close', resolve))
    expect(slow.response.complete).toBe(false)
    const has = [...slow.text.matchAll(/^id: (.+)\ndata: x{100000}\n\n/gm)].map(([, id]) => id)
    expect(has).toEqual(ids.slice(0, has.length))
    expect(has.length).toBeLessThan(ids.length)
    const back = await get(server.url, { 'last-event-id': has.at(-1) ?? first })
    expect(back.response.statusCode).toBe(410)
    await quick.stream.close()
    expect(server.output.replace(/^Error: Reads too slowly\n( {4}at .*\n)+/, '').trim()).toBe('')
  })

  test('ends its streams in waves, each with a time of its own to come back, and then itself', async () => {
    await using server = await ExampleServer.start(name, { retryMs: 1_000, endMs: 2_000 })
    const clients = await Promise.all(Array.from({ length: 20 }, () => get(server.url)))
    await until(() => clients.every(({ text }) => text.includes('id: ')), 'all clients')
    const startedAt = performance.now()
    const ends = clients.map(async ({ response }) => {
      await once(response, 'end')
      return performance.now() - startedAt
    })
    const exit = server.kill('SIGTERM')
    await sleep(300)
    // Nobody new gets a stream meanwhile.
    const late = await get(server.url).then(
      ({ response }) => response.statusCode,
      () => 'refused',
    )
    expect([503, 'refused']).toContain(late)
    const times = (await Promise.all(ends)).sort((a, b) => a - b)
    expect([0, 'SIGTERM']).toContain(await exit)
    expect(performance.now() - startedAt).toBeLessThan(8_000)
    expect(clients.every(({ response }) => response.complete)).toBe(true)
    expect((times.at(-1) as number) - (times[0] as number)).toBeGreaterThan(1_200)
    const waits = clients.map(({ text }) => Number(/retry: (\d+)\n\n$/.exec(text)?.[1]))
    for (const wait of waits) {
      expect(wait).toBeGreaterThanOrEqual(1_000)
      expect(wait).toBeLessThanOrEqual(3_000)
    }
    expect(new Set(waits).size).toBeGreaterThan(10)
    expect(server.output).toBe('')
  })
})
