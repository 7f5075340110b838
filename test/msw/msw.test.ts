import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { ResilientSse } from 'resilient-sse'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { FAST, idsOf, take } from '../faults/support.ts'

const EVENTS = 'http://api.test/events'
const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

/** What msw can see. A getter, because `listen()` replaces the global one. */
const options = {
  ...FAST,
  get fetch() {
    return globalThis.fetch
  },
}

/** Answers each request with the next body, and notes the headers of each. */
function answers(...bodies: (string | Response)[]): Headers[] {
  const seen: Headers[] = []
  server.use(
    http.get(EVENTS, ({ request }) => {
      const body = bodies[Math.min(seen.length, bodies.length - 1)]
      seen.push(request.headers)
      if (body instanceof Response) return body
      return new HttpResponse(body, { headers: { 'content-type': 'text/event-stream' } })
    }),
  )
  return seen
}

const dials = (seen: Headers[]) =>
  seen.map(headers => [headers.get('accept'), headers.get('cache-control'), headers.get('last-event-id')])
const dial = (id: string | null) => ['text/event-stream', 'no-cache', id]

test('a stream that ends is resumed, and the handler sees Last-Event-ID', async () => {
  const seen = answers('retry: 101\nid: 1\ndata: a\n\nid: 2\ndata: b\n\n', 'id: 3\ndata: c\n\n')
  const events = await take(new ResilientSse(EVENTS, options), 3)
  expect(idsOf(events)).toEqual(['1', '2', '3'])
  expect(dials(seen)).toEqual([dial(null), dial('2')])
})

test('a 503 is followed by another dial, and then there is a stream', async () => {
  const seen = answers(new HttpResponse(null, { status: 503 }), 'id: 1\ndata: a\n\n')
  expect(idsOf(await take(new ResilientSse(EVENTS, options), 1))).toEqual(['1'])
  expect(dials(seen)).toEqual([dial(null), dial(null)])
})

test('a network error of the mock is followed by another dial', async () => {
  const seen = answers(HttpResponse.error() as Response, 'id: 1\ndata: a\n\n')
  expect(idsOf(await take(new ResilientSse(EVENTS, options), 1))).toEqual(['1'])
  expect(dials(seen)).toEqual([dial(null), dial(null)])
})

test('a finite stream ends its loop with reconnectOnEnd: false', async () => {
  const seen = answers('data: a\n\ndata: b\n\ndata: [DONE]\n\n')
  const stream = new ResilientSse(EVENTS, { ...options, reconnectOnEnd: false })
  expect((await take(stream, Number.POSITIVE_INFINITY)).map(({ data }) => data)).toEqual(['a', 'b', '[DONE]'])
  expect(stream.state).toBe('closed')
  expect(dials(seen)).toEqual([dial(null)])
})

test('a stream that goes on is left by break at once, although under msw an abort rejects no read', async () => {
  const seen: Headers[] = []
  server.use(
    http.get(EVENTS, ({ request }) => {
      seen.push(request.headers)
      const body = new ReadableStream({
        start: controller => controller.enqueue(new TextEncoder().encode('data: a\n\n')),
      })
      return new HttpResponse(body, { headers: { 'content-type': 'text/event-stream' } })
    }),
  )
  const stream = new ResilientSse(EVENTS, { ...options, heartbeat: false })
  const iterator = stream[Symbol.asyncIterator]()
  expect((await iterator.next()).value?.data).toBe('a')
  const next = iterator.next()
  await stream.close()
  expect((await next).done).toBe(true)
  expect(dials(seen)).toEqual([dial(null)])
})
