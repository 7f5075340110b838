import type { SseEvent } from '../../event.ts'
import type { ResilientSseOptions } from '../../options.ts'
import type { PlainRequest } from '../../plain-request.ts'
import { ResilientSse } from '../../resilient-sse.ts'
import { blockOf } from './block.ts'

/** The answer to `request`, with a body that goes on when its connection breaks, if it can. */
export function outliving(
  answer: Response,
  request: PlainRequest,
  fetch: typeof globalThis.fetch,
  options: ResilientSseOptions,
): Response {
  const headers = new Headers(request.headers)
  const lastEventId = headers.get('last-event-id') ?? undefined
  headers.delete('last-event-id')
  const encoder = new TextEncoder()
  let body: ReadableStreamDefaultController<Uint8Array>
  let first: Response | undefined = answer

  const stream: ResilientSse = new ResilientSse(request.url, {
    ...options,
    tcp: undefined,
    headers,
    signal: request.rest.signal ?? undefined,
    resume: options.resume === false ? false : { ...options.resume, lastEventId },
    reconnectOnEnd: false,
    // The first dial was made already.
    fetch: async (url, init) => {
      const dialled = first
      first = undefined
      return dialled ?? fetch(url, { ...request.rest, ...init })
    },
    isRetryable: () => (request.method === 'GET' && stream.lastEventId ? undefined : false),
    onComment: comment => {
      body.enqueue(encoder.encode(`:${comment}\n`))
      options.onComment?.(comment)
    },
    onRetry: ms => {
      body.enqueue(encoder.encode(`retry: ${ms}\n\n`))
      options.onRetry?.(ms)
    },
  })
  const batches = stream.batches()
  let toldId = lastEventId

  /** Blocks for these events, and one for an id that came without an event. */
  function blocks(events: readonly SseEvent[]): string {
    let text = ''
    for (const event of events) {
      text += blockOf(event)
      if (event.id !== undefined) toldId = event.id
    }
    if (stream.lastEventId !== toldId) {
      toldId = stream.lastEventId
      text += `id: ${toldId}\n\n`
    }
    return text
  }

  const source: UnderlyingDefaultSource<Uint8Array> = {
    start: controller => {
      body = controller
    },
    pull: async controller => {
      const { done, value = [] } = await batches.next()
      const text = blocks(value)
      if (text !== '') controller.enqueue(encoder.encode(text))
      if (done) controller.close()
    },
    cancel: () => stream.close(),
  }
  // Nothing is read ahead: back-pressure reaches the server.
  const outlived = new Response(new ReadableStream(source, { highWaterMark: 0 }), answer)
  for (const name of ['content-length', 'content-encoding']) outlived.headers.delete(name)
  return Object.defineProperty(outlived, 'url', { value: answer.url })
}
