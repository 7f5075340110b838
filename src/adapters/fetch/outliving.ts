import { Client } from '../../client.ts'
import { SseError } from '../../errors.ts'
import type { Batch } from '../../event.ts'
import { type ResilientSseOptions, resolveOptions } from '../../options.ts'
import type { PlainRequest } from '../../plain-request.ts'
import { blocksOf } from './blocks.ts'
import { idOfHeader } from './cursor.ts'
import { answerWith } from './response.ts'
import { joined, WholeBlocks } from './whole.ts'

/** What a reader with a watchdog of its own is sent for a read that held nothing new. */
const SIGN_OF_LIFE = ':\n\n'

/** The answer to `request`, with a body that goes on when its connection breaks, if it can. `asker`: to the breaker. */
export function outliving(
  answer: Response,
  request: PlainRequest,
  fetch: typeof globalThis.fetch,
  options: ResilientSseOptions,
  asker: object,
): Response {
  const headers = new Headers(request.headers)
  const lastEventId = idOfHeader(headers.get('last-event-id'))
  headers.delete('last-event-id')
  const mayResume = request.method === 'GET' && options.resume !== false
  const encoder = new TextEncoder()
  /** The first dial was made already. */
  let first: Response | undefined = answer
  let blocks = new WholeBlocks()
  /** What the read that is under way has brought: whole blocks, the number of their events, and a `retry:` among them. */
  let read: { bytes: Uint8Array; events: number } | undefined
  let retry = ''

  const resolved = resolveOptions(request.url, {
    ...options,
    tcp: undefined,
    headers,
    signal: request.rest.signal ?? undefined,
    resume: options.resume === false ? false : { ...options.resume, lastEventId },
    dedupe: mayResume ? options.dedupe : false,
    reconnectOnEnd: false,
    fetch: async (url, init) => {
      const dialled = first
      first = undefined
      blocks = new WholeBlocks()
      return dialled ?? fetch(url, { ...request.rest, ...init })
    },
    isRetryable: () => (mayResume && client.delivery.lastEventId ? undefined : false),
    onRetry: ms => {
      retry = `retry: ${ms}\n\n`
      return options.onRetry?.(ms)
    },
  })
  resolved.dialledAs = asker
  resolved.onRead = (chunks, events) => {
    read = { bytes: joined(chunks.flatMap(chunk => blocks.push(chunk))), events }
  }

  /** What came, as it came; or, where a part of it was dropped, what is left of it. */
  function news(batch: Batch): Uint8Array {
    const asItCame = read?.events === batch.events.length ? read.bytes : undefined
    const left = asItCame ?? encoder.encode(retry + blocksOf(batch) || SIGN_OF_LIFE)
    read = undefined
    retry = ''
    return left
  }

  const fail = (error: unknown) => {
    throw request.method === 'GET' ? error : withoutCause(error)
  }

  // No bytes are wanted before somebody reads: nothing is read ahead, and back-pressure reaches the server.
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reads.next().catch(fail)
          const forwarded = done ? joined(blocks.rest()) : news(value)
          if (forwarded.length > 0) controller.enqueue(forwarded)
          if (done) return controller.close()
          if (forwarded.length > 0) return
        }
      },
      cancel(reason) {
        // Not awaited: under some fetches it never settles.
        first?.body?.cancel(reason).catch(() => {})
        void client.end('closed', undefined)
        // A stream that was never read has not begun, and frees nothing at its end.
        if (resolved.breaker) resolved.breaker.release(asker, performance.now())
      },
    },
    { highWaterMark: 0 },
  )
  const outlived = answerWith(body, answer)
  const client: Client = new Client(resolved, outlived)
  const reads = client.delivery.reads()
  return outlived
}

/**
 * Clients search the causes for codes such as ECONNRESET, and take one as leave to send the request again: a model's answer
 * would be paid for twice. The text names the code, and the `drop` in `history` has the error with its cause.
 */
function withoutCause(error: unknown): unknown {
  if (!(error instanceof SseError) || error.cause === undefined) return error
  const told = new SseError(error.code, error.message, { retryable: error.retryable })
  told.history = error.history
  return told
}
