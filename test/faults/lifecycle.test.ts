import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { promisify } from 'node:util'
import { keepaliveFetch, ResilientSse } from 'resilient-sse'
import { answer, cut, end, FaultServer, send, stay } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { builtTesting, expectDials, FAST, QUICK_RETRY, sleep, take, until, Witness } from './support.ts'

describe('a loop', () => {
  test('that breaks frees the socket within 100 ms', async () => {
    await using server = await FaultServer.start({ log: { count: 5 } })
    const took: number[] = []
    for (let index = 0; index < 5; index++) {
      await take(new ResilientSse(server.url, FAST), 1)
      const leftAt = performance.now()
      await server.waitForClose(index, 1_000)
      took.push(performance.now() - leftAt)
      expect(server.requests[index]?.closedBy).toBe('client')
    }
    // The best of five: what a busy machine adds is not the stream's.
    expect(Math.min(...took)).toBeLessThan(100)
    expectDials(server.requests, Array(5).fill(undefined))
  })

  test('whose body throws gets its own error, and the socket is free', async () => {
    await using server = await FaultServer.start({ log: { count: 5 } })
    const stream = new ResilientSse(server.url, FAST)
    const loop = async () => {
      for await (const _ of stream) throw new TypeError('mine')
    }
    await expect(loop()).rejects.toThrow(new TypeError('mine'))
    expect(stream.state).toBe('closed')
    await until(() => server.openSockets === 0, 'the socket is free', 1_000)
    expectDials(server.requests, [undefined])
  })

  test('that throws after a reconnect does not open the stream again', async () => {
    await using server = await FaultServer.start({ log: { count: 4 }, script: [[send(2), cut()]] })
    let seen = 0
    const loop = async () => {
      for await (const _ of new ResilientSse(server.url, FAST)) if (++seen === 3) throw new Error('mine')
    }
    await expect(loop()).rejects.toThrow('mine')
    await until(() => server.openSockets === 0, 'the socket is free', 1_000)
    await sleep(150)
    expectDials(server.requests, [undefined, server.log.idAt(1)])
  })

  test('over a stream that was closed before it is ERR_SSE_CLOSED, and nothing is dialled', async () => {
    await using server = await FaultServer.start()
    const stream = new ResilientSse(server.url, FAST)
    await stream.close()
    await expect(take(stream, 1)).rejects.toMatchObject({ code: 'ERR_SSE_CLOSED' })
    expectDials(server.requests, [])
  })

  test('whose signal was aborted before it throws the reason, and nothing is dialled', async () => {
    await using server = await FaultServer.start()
    const stream = new ResilientSse(server.url, { ...FAST, signal: AbortSignal.abort(new Error('too late')) })
    await expect(take(stream, 1)).rejects.toThrow('too late')
    expect(server.connections).toBe(0)
    expectDials(server.requests, [])
  })

  test('never ends by itself while the server is away, and dials on', async () => {
    await using server = await FaultServer.start({
      log: { count: 2 },
      script: [[send(1), cut()], ...Array(4).fill([answer(503)])],
    })
    expect(await take(new ResilientSse(server.url, FAST), 2)).toHaveLength(2)
    expectDials(server.requests, [undefined, ...Array(5).fill(server.log.idAt(0))])
  })
})

describe('close() from within', () => {
  test.each(['dial', 'open', 'drop', 'wait', 'duplicate', 'gap'] as const)(
    'a %s listener wins over what was to come',
    async type => {
      await using server = await FaultServer.start({
        log: { count: 6 },
        script: [
          [send(3), cut()],
          [{ do: 'ignoreId' }, send(3), cut()],
        ],
      })
      const witness = new Witness()
      let closedAt = -1
      const stream: ResilientSse = new ResilientSse(server.url, {
        ...FAST,
        onLifecycle: event => {
          witness.onLifecycle(event)
          if (event.type !== type || closedAt >= 0) return
          closedAt = server.requests.length
          void stream.close()
        },
      })
      let events = 0
      for await (const _ of stream) events++
      expect(stream.state).toBe('closed')
      expect(witness.types.filter(one => one === 'close')).toHaveLength(1)
      expect(witness.types.slice(witness.types.indexOf('close') + 1)).toEqual([])
      await sleep(80)
      expect(server.openSockets).toBe(0)
      const dials = { dial: 0, open: 1, drop: 1, wait: 1, duplicate: 2, gap: 2 }[type]
      expectDials(server.requests, [undefined, server.log.idAt(2)].slice(0, dials))
      expect(events).toBeLessThanOrEqual(3)
    },
  )

  test('onComment wins, too', async () => {
    await using server = await FaultServer.start({
      log: { count: 3 },
      script: [[{ do: 'comment', text: 'go away' }, { do: 'wait', ms: 20 }, { do: 'rest' }, stay()]],
    })
    const stream: ResilientSse = new ResilientSse(server.url, {
      ...FAST,
      onComment: () => void stream.close(),
    })
    expect(await take(stream, 3)).toEqual([])
    await until(() => server.openSockets === 0, 'the socket is free', 1_000)
    expectDials(server.requests, [undefined])
  })
})

test('15 reconnects with one signal leave no listener on it, neither during the stream nor after it', async () => {
  // Two events a time: connections that end after one are taken for flapping, and paced.
  await using server = await FaultServer.start({ log: { count: 32 }, otherwise: [send(2), cut()] })
  const { signal } = new AbortController()
  const stream = new ResilientSse(server.url, { ...FAST, signal })
  let most = 0
  let events = 0
  for await (const _ of stream) {
    most = Math.max(most, getEventListeners(signal, 'abort').length)
    if (++events === 32) break
  }
  expect(most).toBe(1)
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  expectDials(server.requests, [
    undefined,
    ...Array.from({ length: 15 }, (_, index) => server.log.idAt(2 * index + 1)),
  ])
})

test('a signal that ends a stream may be given to other requests of undici afterwards', async () => {
  await using server = await FaultServer.start({ log: { count: 1 } })
  const { signal } = new AbortController()
  await take(new ResilientSse(server.url, { ...FAST, signal }), 1)
  const fetch = keepaliveFetch()
  const response = await fetch(server.url, { signal, headers: { accept: 'text/event-stream' } })
  expect(response.status).toBe(200)
  await response.body?.cancel()
})

test('twenty streams share one signal without a warning, and end by it together', async () => {
  await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [send(1), stay()] })
  const warnings: Error[] = []
  const warned = (warning: Error) => warnings.push(warning)
  process.on('warning', warned)
  const controller = new AbortController()
  const loops = Array.from({ length: 20 }, () =>
    take(new ResilientSse(server.url, { ...FAST, signal: controller.signal }), 2).catch(error => error),
  )
  await server.waitForRequests(20)
  expectDials(server.requests, Array(20).fill(undefined))
  controller.abort(new Error('enough'))
  expect(await Promise.all(loops)).toEqual(Array(20).fill(new Error('enough')))
  await sleep(10)
  process.off('warning', warned)
  expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')).toEqual([])
})

describe('a process', () => {
  const script = (body: string) => `
    import { ResilientSse } from ${JSON.stringify(new URL('index.js', `file://${builtTesting()}`).href)}
    import { FaultServer } from ${JSON.stringify(`file://${builtTesting()}`)}
    process.on('unhandledRejection', error => { console.log('unhandled', error); process.exit(9) })
    const FAST = ${JSON.stringify(FAST)}
    ${body}`
  const run = (body: string) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script(body)], {
      timeout: 10_000,
    })

  test('ends by itself once its streams are closed, whatever they were doing', async () => {
    const { stdout } = await run(`
      const server = await FaultServer.spawn({ log: { count: 2 }, routes: {
        '/headers': [[{ do: 'noHeaders' }]],
        '/reading': [[{ do: 'send', count: 1 }, { do: 'silence' }]],
        '/waiting': [[{ do: 'answer', status: 503 }]],
      } })
      const streams = []
      for (const path of ['/headers', '/reading', '/waiting']) {
        const stream = new ResilientSse(server.urlOf(path), { ...FAST, heartbeat: {}, backoff: { baseMs: 60_000, jitter: 0, maxMs: 60_000 } })
        streams.push(stream)
        ;(async () => { for await (const _ of stream); })()
      }
      await server.waitForRequests(3)
      await new Promise(resolve => setTimeout(resolve, 50))
      console.log(streams.map(stream => stream.state).join())
      await Promise.all(streams.map(stream => stream.close()))
      const requests = await server.requests()
      console.log(requests.map(({ lastEventId }) => String(lastEventId)).join())
      await server.close()
      const closedAt = performance.now()
      process.on('exit', () => console.log('exit', performance.now() - closedAt < 3000, process.getActiveResourcesInfo().filter(name => /Timeout|TCP/.test(name)).join()))
    `)
    expect(stdout.trim().split('\n')).toEqual([
      'connecting,open,waiting',
      'undefined,undefined,undefined',
      'exit true',
    ])
  })

  test('lives as long as a loop waits for its server, even between two dials', async () => {
    const { stdout } = await run(`
      const server = await FaultServer.spawn({ log: { count: 2 }, script: [[{ do: 'send', count: 1 }, { do: 'cut' }, { do: 'refuse', ms: 300 }]] })
      let events = 0
      for await (const _ of new ResilientSse(server.url, { backoff: { baseMs: 200, jitter: 0 } })) if (++events === 2) break
      console.log(events, (await server.requests()).map(({ lastEventId }) => lastEventId !== undefined).join())
      await server.close()
    `)
    expect(stdout.trim()).toBe('2 false,true')
  })
})

test('a stream that ended cleanly and is closed while it waits is not dialled again', async () => {
  await using server = await FaultServer.start({
    log: { count: 1 },
    script: [[send(1), { do: 'retry', ms: QUICK_RETRY }, end()]],
  })
  const witness = new Witness()
  const stream = new ResilientSse(server.url, { ...FAST, onLifecycle: witness.onLifecycle })
  const loop = take(stream, Number.POSITIVE_INFINITY)
  await until(() => witness.of('wait').length === 1, 'it waits')
  await stream.close()
  expect(await loop).toHaveLength(1)
  await sleep(300)
  expectDials(server.requests, [undefined])
})
