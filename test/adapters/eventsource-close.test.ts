import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { EventSource, type EventSourceInit } from 'resilient-sse/eventsource'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sleep, until } from '../faults/support.ts'
import { finite, serve, status, stream } from './server.ts'

const FOUR = 'data: 1\n\ndata: 2\n\nevent: x\ndata: 3\n\ndata: 4\n\n'

/** Everything that a source tells, as words. */
function listen(url: string, init: EventSourceInit = {}) {
  const told: string[] = []
  const source = new EventSource(url, init)
  onTestFinished(() => source.close())
  for (const type of ['open', 'message', 'x', 'error']) {
    source.addEventListener(type, event => told.push(event instanceof MessageEvent ? event.data : type))
  }
  return { source, told }
}

describe('close()', () => {
  test('in a listener stops the rest of the chunk, and the server sees the connection end', async () => {
    await using server = await serve(stream(FOUR))
    const { source, told } = listen(server.url)
    source.onmessage = ({ data }) => {
      if (data === '2') source.close()
    }
    await until(() => source.readyState === 2, 'it was closed')
    await until(() => server.sockets() === 0, 'the connection ended')
    await sleep(30)
    expect(told).toEqual(['open', '1', '2'])
    expect(server.requests).toHaveLength(1)
  })

  test('in one listener does not keep the others of the same event from hearing it', async () => {
    await using server = await serve(stream(FOUR))
    const source = new EventSource(server.url)
    const heard: string[] = []
    source.addEventListener('message', ({ data }) => {
      heard.push(`first ${data}`)
      source.close()
    })
    source.addEventListener('message', ({ data }) => heard.push(`second ${data}`))
    await until(() => heard.length === 2, 'both heard it')
    await sleep(30)
    expect(heard).toEqual(['first 1', 'second 1'])
  })

  test('when it opens tells no event', async () => {
    await using server = await serve(stream(FOUR))
    const { source, told } = listen(server.url)
    source.onopen = () => source.close()
    await until(() => source.readyState === 2, 'it was closed')
    await until(() => server.sockets() === 0, 'the connection ended')
    expect(told).toEqual(['open'])
  })

  test('on an error event prevents the next dial', async () => {
    await using server = await serve(finite('retry: 101\nid: 1\ndata: 1\n\n'), stream(FOUR))
    const { source, told } = listen(server.url)
    source.onerror = () => source.close()
    await until(() => source.readyState === 2, 'it was closed')
    await sleep(250)
    expect(told).toEqual(['open', '1', 'error'])
    expect(server.requests).toHaveLength(1)
  })

  test('on the error event that ends it is allowed, and tells nothing again', async () => {
    await using server = await serve(status(404))
    const { source, told } = listen(server.url)
    source.onerror = () => source.close()
    await until(() => told.length > 0, 'the error was told')
    await sleep(30)
    expect(told).toEqual(['error'])
  })

  test.each(['dial', 'open', 'drop', 'wait', 'close'] as const)(
    'in onLifecycle, at %s, is the last thing that is told',
    async type => {
      await using server = await serve(finite('retry: 101\nid: 1\ndata: 1\n\n'), status(404))
      const lifecycle: string[] = []
      const { source, told } = listen(server.url, {
        onLifecycle: event => {
          lifecycle.push(event.type)
          if (event.type === type) source.close()
        },
      })
      await until(() => source.readyState === 2, 'it was closed')
      const sofar = [...told]
      await until(() => server.sockets() === 0, 'the connection ended')
      await sleep(150)
      expect(told).toEqual(sofar)
      expect(source.readyState).toBe(2)
      expect(lifecycle.at(-1)).toBe('close')
      expect(lifecycle.filter(one => one === 'close')).toHaveLength(1)
    },
  )

  test('in onComment, in headers, in isRetryable and in a custom fetch is respected', async () => {
    await using server = await serve(stream(`: hello\n\n${FOUR}`))
    await using failing = await serve(status(503), stream(FOUR))
    const closing: Record<string, EventSourceInit> = {
      onComment: { onComment: () => sources.onComment?.source.close() },
      headers: {
        headers: () => {
          sources.headers?.source.close()
          return {}
        },
      },
      isRetryable: {
        isRetryable: () => {
          sources.isRetryable?.source.close()
          return true
        },
      },
      fetch: {
        fetch: (url, init) => {
          sources.fetch?.source.close()
          return fetch(url, init)
        },
      },
    }
    const sources: Record<string, ReturnType<typeof listen>> = {}
    for (const [name, init] of Object.entries(closing))
      sources[name] = listen(name === 'isRetryable' ? failing.url : server.url, init)
    await until(
      () => Object.values(sources).every(({ source }) => source.readyState === 2),
      'all were closed',
    )
    await until(() => server.sockets() + failing.sockets() === 0, 'all connections ended')
    expect(Object.fromEntries(Object.entries(sources).map(([name, { told }]) => [name, told]))).toEqual({
      onComment: ['open'],
      headers: [],
      isRetryable: [],
      fetch: [],
    })
  })

  test('right after construction dials nothing', async () => {
    await using server = await serve(stream(FOUR))
    const { source, told } = listen(server.url)
    source.close()
    source.close()
    expect(source.readyState).toBe(2)
    await sleep(50)
    expect(told).toEqual([])
    expect(server.requests).toEqual([])
  })

  test('ends one of two sources of the same server, and leaves the other alone', async () => {
    await using server = await serve(stream('data: 1\n\n'))
    const one = listen(server.url)
    const other = listen(server.url)
    await until(() => one.told.length + other.told.length === 4, 'both are open')
    one.source.close()
    await until(() => server.sockets() === 1, 'one connection ended')
    await sleep(30)
    expect(other.source.readyState).toBe(1)
  })

  test('makes reconnect() a call without effect', async () => {
    await using server = await serve(stream(FOUR))
    const { source } = listen(server.url)
    source.close()
    source.reconnect()
    await sleep(30)
    expect(server.requests).toEqual([])
  })
})

describe('the signal', () => {
  test('closes the source at once and tells no error', async () => {
    await using server = await serve(stream(FOUR))
    const controller = new AbortController()
    const { source, told } = listen(server.url, { signal: controller.signal })
    await until(() => told.length === 5, 'the events were told')
    controller.abort()
    expect(source.readyState).toBe(2)
    await until(() => server.sockets() === 0, 'the connection ended')
    expect(told).toEqual(['open', '1', '2', '3', '4'])
  })

  test('that was aborted before leaves a source that is closed', async () => {
    const { source, told } = listen('http://127.0.0.1:1/', { signal: AbortSignal.abort() })
    await sleep(10)
    expect(source.readyState).toBe(2)
    expect(told).toEqual([])
  })
})

describe('a connection that was given up on purpose is no error', () => {
  test('with reconnect() the source is connecting, then open again', async () => {
    await using server = await serve(stream('id: 1\ndata: 1\n\n'), stream('id: 2\ndata: 2\n\n'))
    const { source, told } = listen(server.url)
    await until(() => told.length === 2, 'the first event was told')
    source.reconnect()
    await until(() => told.length === 4, 'the second event was told')
    expect(told).toEqual(['open', '1', 'open', '2'])
    expect(server.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1'])
  })

  test('nor is a token that was stale, and the 204 after it is told as such', async () => {
    await using server = await serve(status(401), status(204))
    const { source, told } = listen(server.url, { headers: async () => ({ authorization: 'Bearer fresh' }) })
    const errors: (number | undefined)[] = []
    source.onerror = event => errors.push(event.status)
    await until(() => source.readyState === 2, 'it is over')
    expect(told).toEqual(['error'])
    expect(errors).toEqual([204])
  })
})

describe('readyState', () => {
  test('is in step with every event, and with every moment in between', async () => {
    await using server = await serve(finite('retry: 101\nid: 1\ndata: 1\n\n'), status(503), status(404))
    const states: [string, number][] = []
    const source = new EventSource(server.url)
    for (const type of ['open', 'message', 'error'])
      source.addEventListener(type, () => states.push([type, source.readyState]))
    await until(() => source.readyState === 2, 'it failed')
    expect(states).toEqual([
      ['open', 1],
      ['message', 1],
      ['error', 0],
      ['error', 0],
      ['error', 2],
    ])
  })

  test('is CLOSED in the last error event although the last save takes long', async () => {
    await using server = await serve(stream('id: 1\ndata: 1\n\n'), status(404))
    let release = () => {}
    const { source, told } = listen(server.url, {
      resume: {
        store: { load: () => undefined, save: () => new Promise<void>(resolve => (release = resolve)) },
      },
    })
    await until(() => told.length === 2, 'the event was told')
    source.reconnect()
    await until(() => told.length === 3, 'the error was told, and nobody waited for the save')
    expect(source.readyState).toBe(2)
    release()
  })

  test('is CONNECTING while a port refuses, with one error event for each dial', async () => {
    const closed = createServer()
    await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise(resolve => closed.close(resolve))
    const dials: number[] = []
    const { source, told } = listen(`http://127.0.0.1:${port}/`, {
      backoff: { baseMs: 5, maxMs: 5 },
      breaker: { threshold: 3, cooldownMs: 60_000 },
      onLifecycle: ({ type }) => type === 'dial' && dials.push(source.readyState),
    })
    await until(() => told.length === 3, 'three dials failed')
    await sleep(50)
    // Then the breaker waits; a source never gives up because dialling has failed often.
    expect(told).toEqual(['error', 'error', 'error'])
    expect(dials).toEqual([0, 0, 0])
    expect(source.readyState).toBe(0)
  })
})
