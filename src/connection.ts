import { BlockReader, type Part } from './blocks.ts'
import type { ByteSource } from './body.ts'
import { SseError } from './errors.ts'
import type { Batch } from './event.ts'
import type { ResolvedHeartbeat, Rhythm } from './layers/heartbeat.ts'
import { callSafely, type Lifecycle } from './lifecycle.ts'
import { readFailure } from './outcome.ts'
import { watch } from './watch.ts'
import { Watchdog } from './watchdog.ts'

export interface ConnectionOptions {
  /** Whether the response's framing can tell a complete body from one that was cut. */
  cleanEnd: boolean
  maxEventChars: number
  /** Milliseconds after which the connection gives itself up; `undefined`: never. */
  rotateAfterMs: number | undefined
  /** A comment came: a sign of life at once, whenever it is told. */
  onCommentParsed: () => void
  /** Told in the order of the stream: after the events before it were handled. */
  onComment: ((comment: string) => void) | undefined
  /** A `retry:` field, in milliseconds as the server wrote it. */
  onRetry: (ms: number) => void
  /** The bytes of a read that could be parsed, and how many events they ended. */
  onRead?: ((chunks: readonly Uint8Array[], events: number) => void) | undefined
}

/** One response, read and parsed. It ends once, by rejecting {@link read}: every end is an error with a reason. */
export class Connection {
  readonly openedAt = performance.now()
  /** Length of the last read. */
  bytes = 0
  /** Events so far, duplicates included. */
  events = 0
  /** What is left of the last read, the next part last: a read may hold a hundred thousand. */
  #parts: Part[] = []
  #over = false
  #failure: unknown
  #failed = false
  #waiting: { resolve: (batch: Batch) => void; reject: (error: unknown) => void } | undefined
  #watchdog: Watchdog | undefined
  readonly #release: (() => void)[] = []
  readonly #cleanEnd: boolean
  readonly #body: ByteSource
  readonly #abort: AbortController
  readonly #blocks: BlockReader
  readonly #onComment: ((comment: string) => void) | undefined
  readonly #onRead: ConnectionOptions['onRead']

  constructor(body: ByteSource, abort: AbortController, options: ConnectionOptions) {
    this.#abort = abort
    this.#cleanEnd = options.cleanEnd
    this.#body = body
    this.#onComment = options.onComment
    this.#onRead = options.onRead
    this.#blocks = new BlockReader({
      maxEventChars: options.maxEventChars,
      onRetry: ms => {
        if (!this.#over) options.onRetry(ms)
      },
      // A listener may have given the connection up at a comment before this one in the same read.
      onCommentParsed: () => {
        if (!this.#failed) options.onCommentParsed()
      },
      onComment:
        this.#onComment &&
        (comment => {
          if (!this.#failed) callSafely(this.#onComment, comment)
        }),
    })
    if (options.rotateAfterMs !== undefined) {
      const timer = setTimeout(() => this.fail(rotated('maxConnectionMs')), options.rotateAfterMs)
      this.#release.push(() => clearTimeout(timer))
    }
  }

  /** Characters of an event that was begun and not ended. */
  get pendingChars(): number {
    return this.#blocks.pendingChars
  }

  /** Layer 2 watches over this connection until its end. */
  guard(heartbeat: ResolvedHeartbeat, rhythm: Rhythm, lifecycle: Lifecycle): void {
    this.#watchdog = new Watchdog(heartbeat, rhythm, {
      stall: (phase, silentMs) => lifecycle.tell('stall', { phase, silentMs: Math.round(silentMs) }),
      dead: error => {
        lifecycle.tell('stall', { phase: 'dead', silentMs: Math.round(error.silentMs) })
        this.fail(error)
      },
    })
    this.#release.push(watch(this.#watchdog))
  }

  /** The next chunk's events, as far as the next comment; an empty batch when it ended none. One read at a time. */
  read(): Promise<Batch> {
    const part = this.#nextPart()
    if (part !== undefined) {
      this.bytes = 0
      return Promise.resolve(part)
    }
    // Raced by hand: under some fetches an abort does not reject a pending read, and Promise.race would leave a
    // reaction on a long-lived promise for each chunk.
    return new Promise((resolve, reject) => {
      if (this.#failed) return reject(this.#failure)
      this.#waiting = { resolve, reject }
      if (this.#watchdog !== undefined) this.#watchdog.reading = true
      this.#body.ready().then(this.#onBytes, this.#onReadError)
    })
  }

  /** Ends the connection for a reason of ours; a pending read rejects with it at once. */
  fail(reason: unknown): void {
    if (this.#failed) return
    this.#failed = true
    this.#failure = reason
    this.#waiting?.reject(reason)
    this.#waiting = undefined
    for (const release of this.#release) release()
    this.#abort.abort(reason)
    this.#body.cancel(reason)
  }

  /** The stream is over: nothing of what was read is told any more. */
  close(reason: unknown): void {
    this.#over = true
    this.fail(reason)
  }

  #nextPart(): Batch | undefined {
    const part = this.#parts.pop()
    if (part === undefined) return undefined
    for (const comment of part.comments) if (!this.#over) callSafely(this.#onComment, comment)
    this.events += part.batch.events.length
    return part.batch
  }

  readonly #onBytes = (more: boolean): void => {
    const waiting = this.#waiting
    if (waiting === undefined || this.#failed) return
    if (!more) {
      this.fail(this.#endOfBody())
      return
    }
    this.#waiting = undefined
    const chunks = this.#body.take()
    this.bytes = chunks.reduce((bytes, chunk) => bytes + chunk.length, 0)
    const { parts, error } = this.#blocks.read(chunks)
    this.#parts = parts.reverse()
    const batch = this.#nextPart() as Batch
    if (error === undefined) this.#onRead?.(chunks, batch.events.length)
    // What was complete before the broken block is delivered first; the next read tells the failure.
    if (error !== undefined) this.fail(error)
    if (this.#watchdog !== undefined) {
      this.#watchdog.reading = false
      this.#watchdog.sawBytes = true
      if (batch.events.length > 0) this.#watchdog.sawEvents = true
    }
    if (this.#failed && batch.events.length === 0) waiting.reject(this.#failure)
    else waiting.resolve(batch)
  }

  readonly #onReadError = (error: unknown): void => {
    this.fail(readFailure(error))
  }

  #endOfBody(): SseError {
    return this.#cleanEnd
      ? new SseError('ERR_SSE_END', 'The server ended the stream', { retryable: true })
      : new SseError(
          'ERR_SSE_NETWORK',
          'The connection ended, and nothing says that the response was complete',
          {
            retryable: true,
          },
        )
  }
}

/** The connection is given up on purpose; no failure, and the next dial follows at once. */
export function rotated(why: string): SseError {
  return new SseError('ERR_SSE_ROTATED', `The connection was given up: ${why}`, { retryable: true })
}
