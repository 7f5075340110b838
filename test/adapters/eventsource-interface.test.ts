import { inspect } from 'node:util'
import { SseError, SseHttpError } from 'resilient-sse'
import {
  type ErrorEventLike,
  EventSource,
  EventSourceErrorEvent,
  EventSourcePolyfill,
} from 'resilient-sse/eventsource'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sleep, until } from '../faults/support.ts'
import { finite, serve, status, stream } from './server.ts'

/** Nobody listens there, and nobody has to. */
const NOWHERE = 'http://127.0.0.1:1/'

/** Closed when the test is over, whatever becomes of it. */
function open(url: string | URL, init?: ConstructorParameters<typeof EventSource>[1]): EventSource {
  const source = new EventSource(url, init)
  onTestFinished(() => source.close())
  return source
}

const next = <Kind extends Event = MessageEvent>(source: EventSource, type: string) =>
  new Promise<Kind>(resolve =>
    source.addEventListener(type, event => resolve(event as unknown as Kind), { once: true }),
  )

describe('the constructor', () => {
  test('keeps the query and the fragment in url', () => {
    expect(open('http://127.0.0.1:1/a/../b?q=ä#part').url).toBe('http://127.0.0.1:1/b?q=%C3%A4#part')
    expect(open(new URL(NOWHERE)).url).toBe(NOWHERE)
  })

  test.each(['not a url', '', 'http://', '/relative'])('throws a SyntaxError for %j', url => {
    const error = thrown(() => new EventSource(url))
    expect(error).toBeInstanceOf(DOMException)
    expect(error).toMatchObject({ name: 'SyntaxError', code: 12 })
  })

  test('refuses what no fetch would take, and does not repeat what may be secret', () => {
    for (const url of ['ftp://host/', 'data:text/event-stream,data:x', 'http://me:secret@host/'] as const) {
      const error = thrown(() => new EventSource(url))
      expect(error).toMatchObject({ code: 'ERR_SSE_OPTION' })
      expect(String(error)).not.toContain('secret')
    }
  })

  test('takes null for no options, as the DOM does, and no other kind of value', () => {
    expect(open(NOWHERE, null).withCredentials).toBe(false)
    for (const init of [5, 'headers', true] as never[])
      expect(() => new EventSource(NOWHERE, init)).toThrow(/^options: /)
  })

  test('cannot be called as a function', () => {
    expect(() => (EventSource as unknown as (url: string) => void)(NOWHERE)).toThrow(TypeError)
  })

  test('has withCredentials as a boolean, false by default', () => {
    expect(open(NOWHERE).withCredentials).toBe(false)
    expect(open(NOWHERE, { withCredentials: true }).withCredentials).toBe(true)
  })

  test('dials nothing and tells nothing before its caller had a chance to listen', async () => {
    await using server = await serve(stream('data: 1\n\n'))
    const told: string[] = []
    const source = open(server.url, { onLifecycle: ({ type }) => told.push(type) })
    expect(source.readyState).toBe(0)
    expect(told).toEqual([])
    await next(source, 'message')
  })
})

describe('the class', () => {
  test('has the constants on itself, its prototype and its instances, and they cannot be changed', () => {
    const source = open(NOWHERE)
    for (const holder of [EventSource, EventSource.prototype, source]) {
      expect([holder.CONNECTING, holder.OPEN, holder.CLOSED]).toEqual([0, 1, 2])
    }
    expect(() => Object.assign(source, { OPEN: 7 })).toThrow(TypeError)
    expect(() => Object.assign(EventSource.prototype, { OPEN: 7 })).toThrow(TypeError)
    expect(() => Object.assign(EventSource, { OPEN: 7 })).toThrow(TypeError)
  })

  test('is an EventTarget with the tag of the standard, and takes one argument at least', () => {
    const source = open(NOWHERE)
    expect(source).toBeInstanceOf(EventTarget)
    expect(String(source)).toBe('[object EventSource]')
    expect(EventSource.length).toBe(1)
    expect(EventSource.name).toBe('EventSource')
    expect(EventSourcePolyfill).toBe(EventSource)
  })

  test('is printed with its state, and without the query string', () => {
    const source = open(`${NOWHERE}?token=secret#secret`)
    expect(inspect(source)).toBe(`EventSource { url: '${NOWHERE}', readyState: 0, withCredentials: false }`)
    expect(inspect({ source })).toContain('EventSource {')
    expect(inspect(EventSource.prototype)).toContain('EventSource')
  })

  test('shows those who look for it that it takes a fetch, and which options take effect', () => {
    expect(Symbol.for('eventsource.supports-fetch-override') in EventSource).toBe(true)
    expect(EventSource.supportedOptions).toMatchObject({ errorFilter: true, method: true, proxy: true })
    expect(EventSource.supportedOptions.skipDefaultHeaders).toBeUndefined()
  })

  test('can be extended', async () => {
    await using server = await serve(stream('data: 1\n\n'))
    class Counting extends EventSource {
      count = 0
      override dispatchEvent(event: Event): boolean {
        this.count++
        return super.dispatchEvent(event)
      }
    }
    const source = new Counting(server.url)
    onTestFinished(() => source.close())
    await next(source, 'message')
    expect(source.count).toBe(2)
  })
})

describe('handlers', () => {
  test('are null until they are set, and become null again for whatever is no function', () => {
    const source = open(NOWHERE)
    for (const name of ['onopen', 'onmessage', 'onerror'] as const) {
      expect(source[name]).toBeNull()
      const handler = () => {}
      source[name] = handler
      expect(source[name]).toBe(handler)
      source[name] = 'text' as never
      expect(source[name]).toBeNull()
    }
  })

  test('run in the order in which they were first set among the listeners, and keep it when replaced', async () => {
    await using server = await serve(stream('data: 1\n\n'))
    const calls: string[] = []
    const source = open(server.url)
    source.addEventListener('message', () => calls.push('before'))
    source.onmessage = () => calls.push('never')
    source.addEventListener('message', () => calls.push('after'))
    source.onmessage = () => calls.push('handler')
    await next(source, 'message')
    expect(calls).toEqual(['before', 'handler', 'after'])
  })

  test('go to the end when they were null in between', async () => {
    await using server = await serve(stream('data: 1\n\n'))
    const calls: string[] = []
    const source = open(server.url)
    source.onmessage = () => calls.push('never')
    source.addEventListener('message', () => calls.push('listener'))
    source.onmessage = null
    source.onmessage = () => calls.push('handler')
    await next(source, 'message')
    expect(calls).toEqual(['listener', 'handler'])
  })

  test('are called with the source as this and as the target', async () => {
    await using server = await serve(stream('data: 1\n\n'))
    const source = open(server.url)
    const seen: unknown[] = []
    source.onmessage = function (event) {
      seen.push(this, event.target, event.currentTarget)
    }
    await next(source, 'message')
    expect(seen).toEqual([source, source, source])
  })

  test('may set, replace and remove each other while one event is told', async () => {
    await using server = await serve(stream('data: 1\n\ndata: 2\n\ndata: 3\n\n'))
    const calls: string[] = []
    const source = open(server.url)
    source.onmessage = ({ data }) => {
      calls.push(`first ${data}`)
      source.onmessage = event => {
        calls.push(`second ${event.data}`)
        source.onmessage = null
      }
    }
    await until(() => source.readyState === 1 && calls.length === 2, 'both were called')
    await sleep(30)
    expect(calls).toEqual(['first 1', 'second 2'])
  })
})

describe('listeners', () => {
  test('may be objects, once only, removed, or bound to a signal', async () => {
    await using server = await serve(stream('data: 1\n\ndata: 2\n\ndata: 3\n\n'))
    const calls: string[] = []
    const source = open(server.url)
    const signal = new AbortController()
    const removed = () => calls.push('never')
    source.addEventListener('message', { handleEvent: event => calls.push(`object ${event.type}`) })
    source.addEventListener('message', () => calls.push('once'), { once: true })
    source.addEventListener('message', () => signal.abort(), { signal: signal.signal })
    source.addEventListener('message', removed)
    source.addEventListener('message', null)
    source.removeEventListener('message', removed)
    source.removeEventListener('message', null)
    await until(() => calls.length >= 4, 'all events were told')
    expect(calls).toEqual(['object message', 'once', 'object message', 'object message'])
  })

  test('hear of the event type that they asked for, however it is called', async () => {
    const types = ['update', 'constructor', '__proto__', 'ünïcode', 'on message']
    await using server = await serve(stream(types.map(type => `event: ${type}\ndata: ${type}\n\n`).join('')))
    const source = open(server.url)
    const heard: string[] = []
    for (const type of types) source.addEventListener(type, ({ data }: MessageEvent) => heard.push(data))
    source.onmessage = () => heard.push('message')
    await until(() => heard.length >= types.length, 'all types were heard')
    expect(heard).toEqual(types)
  })
})

describe('events', () => {
  test('are MessageEvents with the data, the inherited id and the origin after redirects', async () => {
    await using target = await serve(stream('id: 7\ndata: a\n\nevent: x\ndata: b\n\nid\ndata: c\n\n'))
    await using server = await serve(response => response.writeHead(307, { location: target.url }).end())
    const source = open(server.url)
    const events: MessageEvent[] = []
    const keep = (event: MessageEvent) => events.push(event)
    source.onmessage = keep
    source.addEventListener('x', keep)
    await until(() => events.length === 3, 'three events came')
    const origin = new URL(target.url).origin
    expect(events.map(event => ({ ...pick(event), isMessage: event instanceof MessageEvent }))).toEqual([
      { type: 'message', data: 'a', lastEventId: '7', origin, isMessage: true },
      { type: 'x', data: 'b', lastEventId: '7', origin, isMessage: true },
      { type: 'message', data: 'c', lastEventId: '', origin, isMessage: true },
    ])
    expect(source.url).toBe(server.url)
    expect(events[0]).toMatchObject({ bubbles: false, cancelable: false, source: null, ports: [] })
  })

  test('are told one by one: what a handler leaves to promises is done before the next, as between tasks', async () => {
    await using server = await serve(stream('data: 1\n\ndata: 2\n\n'))
    const source = open(server.url)
    const order: string[] = []
    source.onmessage = ({ data }) => {
      order.push(`event ${data}`)
      queueMicrotask(() => order.push(`after ${data}`))
    }
    await until(() => order.length === 4, 'both were told')
    expect(order).toEqual(['event 1', 'after 1', 'event 2', 'after 2'])
  })

  test('that the server calls open or error are messages, beside the events of the source itself', async () => {
    await using server = await serve(stream('event: open\ndata: 1\n\nevent: error\ndata: 2\n\n'))
    const source = open(server.url)
    const heard: unknown[] = []
    source.onopen = event => heard.push(event instanceof MessageEvent ? event.data : event.type)
    source.onerror = event => heard.push(event instanceof MessageEvent ? event.data : event.type)
    await until(() => heard.length === 3, 'all three were told')
    expect(heard).toEqual(['open', '1', '2'])
    expect(source.readyState).toBe(EventSource.OPEN)
  })

  test('error events carry the typed error, its text and the status under both names', async () => {
    await using server = await serve(status(503), finite('retry: 150\nid: 1\ndata: x\n\n'), status(204))
    const source = open(server.url, { backoff: { baseMs: 1 } })
    const errors: ErrorEventLike[] = []
    source.onerror = event => errors.push(event)
    await until(() => source.readyState === EventSource.CLOSED, 'the server said that it is over')
    expect(errors.every(event => event instanceof EventSourceErrorEvent)).toBe(true)
    expect(errors.map(({ error, status: is, code }) => [error?.code, is, code])).toEqual([
      ['ERR_SSE_HTTP', 503, 503],
      ['ERR_SSE_END', undefined, undefined],
      [undefined, 204, 204],
    ])
    expect(errors[0]?.error).toBeInstanceOf(SseHttpError)
    expect(errors[1]?.error).toBeInstanceOf(SseError)
    expect(errors[0]?.message).toBe(`${server.url} answered 503`)
    expect(errors[2]?.message).toBe('The server answered 204: the stream is over')
  })

  test('an error event says what ended a finite stream', async () => {
    await using server = await serve(finite('data: x\n\n'))
    const source = open(server.url, { reconnectOnEnd: false })
    const event = await next<ErrorEventLike & Event>(source, 'error')
    expect(source.readyState).toBe(EventSource.CLOSED)
    expect(event).toMatchObject({ error: { code: 'ERR_SSE_END' }, status: undefined })
  })
})

function pick({ type, data, lastEventId, origin }: MessageEvent) {
  return { type, data, lastEventId, origin }
}

function thrown(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
