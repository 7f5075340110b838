import type { IncomingMessage, ServerResponse } from 'node:http'
import { ResilientSse, type SseEvent, type StandardSchema } from 'resilient-sse'
import {
  answer,
  cut,
  end,
  FaultServer,
  event as own,
  reset,
  rest,
  retry,
  send,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { sections } from '../docs/markdown.ts'
import { codeUnder, collector, ENOUGH, Kitchen, listen, storedIn } from './recipe.ts'

const PAGE = 'docs/recipes.md'
const tried = new Set<string>()

/** A recipe is a test of the same name. */
function recipe(
  title: string,
  run: (kitchen: Kitchen, blocks: [string, ...string[]]) => Promise<void>,
): void {
  tried.add(title)
  test(title, async () => {
    using kitchen = new Kitchen()
    await run(kitchen, codeUnder(PAGE, title) as [string, ...string[]])
  })
}

const ids = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index))

recipe('Tokens that expire', async (kitchen, [code]) => {
  await using server = await FaultServer.start({
    log: { count: 4, ids: 'decimal' },
    script: [[send(2), reset()], [answer(401)]],
  })
  let tokens = 0
  const { got, handle } = collector(4)
  await kitchen.run(code, { url: server.url, handle, token: async () => `t${++tokens}` })
  expect(got).toEqual(ids(1, 4))
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(
    ['t1', 't1', 't2'].map(token => `Bearer ${token}`),
  )
})

recipe('Signed URLs', async (kitchen, [code]) => {
  let signed = 0
  const asked: string[] = []
  await using server = await listen((request, response) => {
    if (request.method === 'POST') {
      signed++
      // The service has an outage of its own once.
      if (signed === 2) response.writeHead(503).end()
      else response.end(JSON.stringify({ url: `http://${request.headers.host}/events?signature=${signed}` }))
      return
    }
    asked.push(`${request.url} after ${request.headers['last-event-id']}`)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(`id: ${asked.length}\ndata: x\n\n`, () => response.destroy())
  })
  const { got, handle } = collector(2)
  await kitchen.run(code, { url: server.url, handle })
  expect(got).toEqual(['1', '2'])
  expect(asked).toEqual(['/events?signature=1 after undefined', '/events?signature=3 after 1'])
})

const delta = (content: string) => own({ data: JSON.stringify({ choices: [{ delta: { content } }] }) })

describe('POST, and the answer of a model', () => {
  recipe('POST, and the answer of a model', async (kitchen, [code]) => {
    await using server = await FaultServer.start({
      log: { count: 0 },
      script: [[delta('Hel'), delta('lo'), own({ data: '[DONE]' }), stay()]],
    })
    const answers: string[] = []
    await kitchen.run(code, {
      url: server.url,
      handle: (text: string) => void answers.push(text),
      token: async () => 't',
    })
    expect(answers).toEqual(['Hello'])
    const [request] = server.requests
    expect(server.requests).toHaveLength(1)
    expect(request?.method).toBe('POST')
    expect(request?.headers).toMatchObject({ authorization: 'Bearer t', 'content-type': 'application/json' })
  })

  test.each([
    ['a cut', cut(), /not sent again/],
    ['a clean end without [DONE]', end(), /cut short/],
  ])('%s is an error, and nothing is sent a second time', async (_, ending, message) => {
    await using server = await FaultServer.start({ log: { count: 0 }, script: [[delta('Hel'), ending]] })
    using kitchen = new Kitchen()
    const [code = ''] = codeUnder(PAGE, 'POST, and the answer of a model')
    const handle = () => expect.unreachable()
    await expect(kitchen.run(code, { url: server.url, handle, token: async () => 't' })).rejects.toThrow(
      message,
    )
    expect(server.requests).toHaveLength(1)
  })
})

recipe('Finite streams', async (kitchen, [code]) => {
  await using server = await FaultServer.start({
    log: { count: 6, ids: 'decimal' },
    script: [
      [send(3), cut()],
      [rest(), end()],
    ],
  })
  const got: unknown[] = []
  await kitchen.run(code.replace('JSON.parse(data)', 'data'), {
    url: server.url,
    handle: (data: unknown) => void got.push(data),
  })
  expect(got).toEqual([...ids(1, 6).map((_, index) => server.log.at(index)?.data), 'complete'])
  expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual([undefined, '3'])
})

recipe('JSON, checked by a schema', async (kitchen, blocks) => {
  const price: StandardSchema<{ eur: number }> = {
    '~standard': {
      async validate(value) {
        const { eur } = value as { eur: unknown }
        return typeof eur === 'number'
          ? { value: { eur } }
          : { issues: [{ message: 'No number', path: ['eur'] }] }
      },
    },
  }
  const events = ['{"eur":3}', '{"eur":"4"}', '{"eur":5}'].map((data, index) =>
    own({ id: String(index), data }),
  )
  const results: unknown[] = []
  for (const code of blocks) {
    await using server = await FaultServer.start({ log: { count: 0 }, script: [[...events, stay()]] })
    const got: string[] = []
    const handle = (id: string, eur: number) => {
      got.push(`${id}: ${eur}`)
      if (id === '2') throw ENOUGH
    }
    await kitchen.run(code, { url: server.url, handle, price }).catch(({ message }) => got.push(message))
    results.push(got)
  }
  expect(results).toEqual([
    ['0: 3', 'The event "1" does not match the schema (eur: No number)'],
    ['0: 3', '2: 5'],
  ])
})

recipe('Many streams on one breaker', async (kitchen, [code]) => {
  await using server = await listen((request, response) => {
    // A topic that does not exist ends all streams; the others would go on for ever.
    if (request.url === '/stock') setTimeout(() => response.writeHead(404).end(), 100)
    else {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(`id: 1\ndata: ${request.url}\n\n`)
    }
  })
  const got: string[] = []
  const failed = kitchen.run(code, {
    url: server.url,
    handle: (topic: string, { data }: SseEvent) => void got.push(`${topic} ${data}`),
  })
  await expect(failed).rejects.toMatchObject({ code: 'ERR_SSE_HTTP', status: 404 })
  expect(got.sort()).toEqual(['orders /orders', 'prices /prices'])
})

recipe('`Readable.from`, with acknowledgement by hand', async (kitchen, [code]) => {
  await using server = await FaultServer.start({ log: { count: 10, ids: 'decimal' } })
  const { got, handle } = collector(5)
  await kitchen.run(code, { url: server.url, handle })
  expect(got).toEqual(ids(1, 5))
  // The fifth failed, although Node had asked for all ten.
  expect(await storedIn(`${kitchen.path}/orders.cursor`)).toBe('4')
})

recipe('Parallel handlers', async (kitchen, [code]) => {
  await using server = await FaultServer.start({ log: { count: 30, ids: 'decimal' } })
  let running = 0
  let most = 0
  const handled: string[] = []
  const broken = new Error('The twelfth')
  const handle = async ({ id = '' }: SseEvent) => {
    most = Math.max(most, ++running)
    await new Promise(resolve => setTimeout(resolve, 5 + ((Number(id) * 7) % 20)))
    running--
    if (id === '12') throw broken
    handled.push(id)
  }
  await expect(kitchen.run(code, { url: server.url, handle })).rejects.toBe(broken)
  expect(most).toBe(8)
  expect(handled).not.toEqual([...handled].sort((a, b) => Number(a) - Number(b)))
  const stored = Number(await storedIn(`${kitchen.path}/orders.cursor`))
  // All before it are done; the twelfth will come again.
  expect(stored).toBeLessThan(12)
  expect(handled).toEqual(expect.arrayContaining(ids(1, stored)))
  await new Promise(resolve => setTimeout(resolve, 50))
})

recipe('Worker threads', async (kitchen, [main, worker = '']) => {
  await using server = await listen((request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(`id: ${request.url?.slice(1)}-1\ndata: x\n\nid: ${request.url?.slice(1)}-2\ndata: y\n\n`)
  })
  // What it does with an event is the application's.
  kitchen.write('follow.js', `globalThis.handle = async () => {}\n${worker}`)
  const before = new Set(process.listeners('SIGTERM'))
  const running = kitchen.run(main, { url: server.url, handle: () => {} })
  const saved = () => ['orders', 'prices'].map(topic => kitchen.read(`${topic}.cursor`))
  await expect.poll(saved).toEqual([expect.stringContaining('orders-2'), expect.stringContaining('prices-2')])
  for (const listener of process.listeners('SIGTERM')) if (!before.has(listener)) listener('SIGTERM')
  await running
  // Closed properly: nobody holds the files.
  expect(await storedIn(`${kitchen.path}/orders.cursor`)).toBe('orders-2')
  expect(await storedIn(`${kitchen.path}/prices.cursor`)).toBe('prices-2')
})

describe('A proxy, with Express', () => {
  type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

  async function proxy(kitchen: Kitchen, code: string, upstream: string) {
    let handler: Handler = () => {}
    const app = {
      get(_: string, given: Handler) {
        handler = given
      },
    }
    await kitchen.run(code, { url: upstream, handle: () => {}, app })
    return listen((request, response) => void handler(request, response))
  }

  recipe('A proxy, with Express', async (kitchen, [code]) => {
    await using server = await FaultServer.start({
      log: { count: 20, ids: 'decimal' },
      script: [[send(5), reset()], [answer(503)], [send(5), cut()]],
    })
    await using between = await proxy(kitchen, code, server.url)
    const got: SseEvent[] = []
    const stream = new ResilientSse(`${between.url}feed`, { resume: { lastEventId: '2' } })
    for await (const event of stream) if (got.push(event) === 18) break
    expect(got.map(({ id }) => id)).toEqual(ids(3, 20))
    expect(got.map(({ data }) => data)).toEqual(ids(3, 20).map((_, index) => server.log.at(index + 2)?.data))
    // The client's connection outlived those of the proxy.
    expect(stream.stats().tcp.dials).toBe(1)
    expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual(['2', '7', '7', '12'])
    // A client that leaves takes its upstream along.
    await expect.poll(() => server.requests.at(-1)?.closedBy).toBe('client')
  })

  test('passes on what the upstream refuses', async () => {
    await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [answer(410)] })
    using kitchen = new Kitchen()
    const [code = ''] = codeUnder(PAGE, 'A proxy, with Express')
    await using between = await proxy(kitchen, code, server.url)
    const stream = new ResilientSse(`${between.url}feed`)
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ status: 410 })
  })
})

test('docs/server.md: 410 is answered by a snapshot, and a new beginning from there', async () => {
  await using server = await FaultServer.start({
    log: { count: 8, ids: 'decimal' },
    script: [[send(2), retry(101), end()], [answer(410)]],
  })
  using kitchen = new Kitchen()
  const code = codeUnder('docs/server.md', 'The replay buffer, and what it no longer holds')[0] as string
  const { got, handle } = collector(5)
  await kitchen.run(code, {
    url: server.url,
    handle,
    snapshot: async () => ({ state: {}, lastEventId: '5' }),
  })
  expect(got).toEqual([...ids(1, 2), ...ids(6, 8)])
  expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual([undefined, '2', '5'])
})

test('each recipe of the page is tried', () => {
  const titles = sections(PAGE).filter(({ level }) => level === 2)
  expect([...tried].sort()).toEqual(titles.map(({ title }) => title).sort())
})
