import type { ByteSource } from '../../src/body.ts'
import { Connection } from '../../src/connection.ts'
import { SseError } from '../../src/errors.ts'
import { cursorAfter } from '../../src/event.ts'
import { Cursor } from '../../src/layers/resume.ts'
import type { Reading } from './reference.ts'

/** The reader of this package on a body in memory: the same chunks, up to `perRead` of them at once. */
export async function readChunks(chunks: readonly Uint8Array[], perRead = 1): Promise<Reading> {
  const reading: Reading = {
    events: [],
    comments: [],
    retries: [],
    cursor: undefined,
    resumesAfter: undefined,
  }
  const cursor = new Cursor(undefined)
  const connection = new Connection(bodyOf(chunks, perRead), new AbortController(), {
    cleanEnd: true,
    maxEventChars: 16_777_216,
    rotateAfterMs: undefined,
    onCommentParsed: () => {},
    onComment: comment => reading.comments.push({ comment, events: reading.events.length }),
    onRetry: ms => reading.retries.push(ms),
  })
  try {
    for (;;) {
      const batch = await connection.read()
      for (const [index, { data, id, event = 'message' }] of batch.events.entries()) {
        const lastEventId = cursorAfter(batch, index + 1, false) ?? cursor.received ?? ''
        reading.events.push({ type: event, data, id, lastEventId })
      }
      const { length } = batch.events
      const received = cursorAfter(batch, length, true)
      if (received !== undefined) cursor.advance(received, accept => cursorAfter(batch, length, true, accept))
    }
  } catch (error) {
    if (!(error instanceof SseError) || error.code !== 'ERR_SSE_END') throw error
  }
  return { ...reading, cursor: cursor.received, resumesAfter: cursor.sendable }
}

function bodyOf(chunks: readonly Uint8Array[], perRead: number): ByteSource {
  let at = 0
  return {
    ready: async () => at < chunks.length,
    take: () => {
      const taken = chunks.slice(at, at + perRead)
      at += perRead
      return taken
    },
    cancel: () => {},
  }
}
