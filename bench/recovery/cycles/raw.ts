// What the same recovery costs without this package: undici's fetch, a decoder and a parser, until the first event.
import { createParser } from 'eventsource-parser'
import { Agent, fetch } from 'undici'

/** A raw fetch has no watchdog: what a break that nobody ordered swallowed would be waited for without end. */
const LIMIT_MS = 3_000

export interface Raw {
  tookMs: number
  end: 'event' | 'refused' | 'broken'
}

/** Milliseconds from the call to the first event, or to the error: when it was refused, or broken by something else. */
export async function raw(url: string, lastEventId: string | undefined): Promise<Raw> {
  // Each for itself: after an abort, an agent dials again in advance, and that socket may break before it is used.
  const dispatcher = new Agent({ pipelining: 0, bodyTimeout: 0, headersTimeout: 0 })
  const abort = new AbortController()
  const limit = setTimeout(() => abort.abort(), LIMIT_MS)
  const startedAt = performance.now()
  try {
    const response = await fetch(url, {
      dispatcher,
      signal: abort.signal,
      headers: {
        accept: 'text/event-stream',
        'cache-control': 'no-cache',
        'accept-encoding': 'identity',
        'x-raw': '1',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
    })
    let tookMs: number | undefined
    const decoder = new TextDecoder()
    const parser = createParser({
      onEvent: () => {
        tookMs ??= performance.now() - startedAt
      },
    })
    for await (const chunk of response.body ?? []) {
      parser.feed(decoder.decode(chunk, { stream: true }))
      if (tookMs !== undefined) break
    }
    if (tookMs === undefined) throw new Error('ended without an event')
    return { tookMs, end: 'event' }
  } catch (error) {
    const end = (error as { cause?: { code?: string } }).cause?.code === 'ECONNREFUSED' ? 'refused' : 'broken'
    return { tookMs: performance.now() - startedAt, end }
  } finally {
    clearTimeout(limit)
    abort.abort()
    dispatcher.destroy().catch(() => {})
  }
}
