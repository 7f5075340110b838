import { createParser } from 'eventsource-parser'
import type { ByteSource } from './body.ts'
import { createDecoder } from './decode.ts'
import { SseError } from './errors.ts'
import type { Batch } from './event.ts'
import type { ResolvedHeartbeat, Rhythm } from './layers/heartbeat.ts'
import type { Lifecycle } from './lifecycle.ts'
import { readFailure } from './outcome.ts'
import { watch } from './watch.ts'
import { Watchdog } from './watchdog.ts'

const NO_MOVES: Batch['cursorMoves'] = []

export interface ConnectionOptions {
  /** Whether the response's framing can tell a complete body from one that was cut. */
  cleanEnd: boolean
  maxEventChars: number
  /** Milliseconds after which the connection gives itself up; `undefined`: never. */
  rotateAfterMs: number | undefined
  onComment: (comment: string) => void
  /** A `retry:` field, in milliseconds as the server wrote it. */
  onRetry: (ms: number) => void
}

/** One response, read and parsed. It ends once, by rejecting {@link read}: every end is an error with a reason. */
export class Connection {
  readonly openedAt = performance.now()
  /** Length of the last read. */
  bytes = 0
  /** Events so far, duplicates included. */
  events = 0
  #batch: Batch = { events: [], cursorMoves: NO_MOVES }
  #pendingChars = 0
  #failure: unknown
  #failed = false
  #waiting: { resolve: (batch: Batch) => void; reject: (error: unknown) => void } | undefined
  #watchdog: Watchdog | undefined
  readonly #release: (() => void)[] = []
  readonly #cleanEnd: boolean
  readonly #body: ByteSource
  readonly #abort: AbortController
  readonly #decoder = createDecoder()
  readonly #parser: { feed(text: string): void }

  constructor(body: ByteSource, abort: AbortController, options: ConnectionOptions) {
    this.#abort = abort
    this.#cleanEnd = options.cleanEnd
    this.#body = body
    this.#parser = this.#createParser(options)
    if (options.rotateAfterMs !== undefined) {
      const timer = setTimeout(() => this.fail(rotated('maxConnectionMs')), options.rotateAfterMs)
      this.#release.push(() => clearTimeout(timer))
    }
  }

  /** Characters of an event that was begun and not ended. */
  get pendingChars(): number {
    return this.#pendingChars
  }

  /** Layer 2 watches over this connection until its end. */
  guard(heartbeat: ResolvedHeartbeat, rhythm: Rhythm, lifecycle: Lifecycle): void {
    this.#watchdog = new Watchdog(heartbeat, rhythm, {
      stall: (phase, silentMs) => lifecycle.tell('stall', { phase, silentMs }),
      dead: error => {
        lifecycle.tell('stall', { phase: 'dead', silentMs: error.silentMs })
        this.fail(error)
      },
    })
    this.#release.push(watch(this.#watchdog))
  }

  /** The next chunk's events; an empty batch when it ended none. One read at a time. */
  read(): Promise<Batch> {
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

  readonly #onBytes = (more: boolean): void => {
    const waiting = this.#waiting
    if (waiting === undefined || this.#failed) return
    if (!more) {
      this.fail(this.#endOfBody())
      return
    }
    this.#waiting = undefined
    this.#batch = { events: [], cursorMoves: NO_MOVES }
    this.bytes = 0
    try {
      for (const chunk of this.#body.take()) {
        this.bytes += chunk.length
        this.#parser.feed(this.#decoder.decode(chunk))
      }
    } catch (error) {
      // What was complete before the broken block is delivered first; the next read tells the failure.
      this.fail(error)
    }
    this.events += this.#batch.events.length
    if (this.#watchdog !== undefined) {
      this.#watchdog.reading = false
      this.#watchdog.sawBytes = true
      if (this.#batch.events.length > 0) this.#watchdog.sawEvents = true
    }
    if (this.#failed && this.#batch.events.length === 0) waiting.reject(this.#failure)
    else waiting.resolve(this.#batch)
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

  #createParser(options: ConnectionOptions): { feed(text: string): void } {
    const { maxEventChars, onComment, onRetry } = options
    // The id of the block that ends now; an event takes it, so what is left over was a block without data.
    let blockId: string | undefined
    const moveCursor = (id: string) => {
      if (this.#batch.cursorMoves === NO_MOVES) this.#batch.cursorMoves = []
      this.#batch.cursorMoves.push({ id, at: this.#batch.events.length })
      blockId = undefined
    }
    /** The last characters of the text before: a blank line may be cut in two. */
    let tail = ''
    const parser = createParser({
      maxBufferSize: maxEventChars,
      onEvent: event => {
        // Its own id stands in the event; another one is that of a block before it, which had no data.
        if (blockId !== undefined && event.id === undefined) moveCursor(blockId)
        blockId = undefined
        if (event.data.length > maxEventChars) throw tooLarge(maxEventChars)
        this.#batch.events.push(event)
      },
      onId: id => {
        if (blockId !== undefined) moveCursor(blockId)
        blockId = id
      },
      onComment: comment => {
        // A listener may have given the connection up at one before it in the same read.
        if (!this.#failed) onComment(comment)
      },
      onRetry,
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded') throw tooLarge(maxEventChars)
      },
    })
    return {
      feed: text => {
        parser.feed(text)
        if (blockId !== undefined) moveCursor(blockId)
        const end = endOfLastBlock(text) || endOfLastBlock(tail + text.slice(0, 3)) - tail.length
        this.#pendingChars = end > 0 ? text.length - end : this.#pendingChars + text.length
        tail = text.length < 3 ? (tail + text).slice(-3) : text.slice(-3)
      },
    }
  }
}

function tooLarge(maxEventChars: number): SseError {
  return new SseError(
    'ERR_SSE_EVENT_TOO_LARGE',
    `An event (or a line that never ends) exceeds maxEventChars, ${maxEventChars}; the same one would come again`,
  )
}

/** The connection is given up on purpose; no failure, and the next dial follows at once. */
export function rotated(why: string): SseError {
  return new SseError('ERR_SSE_ROTATED', `The connection was given up: ${why}`, { retryable: true })
}

/** The position after the last blank line, 0 when there is none. */
function endOfLastBlock(text: string): number {
  for (const blank of ['\n\n', '\r\n\r\n', '\r\r']) {
    const at = text.lastIndexOf(blank)
    if (at !== -1) return at + blank.length
  }
  return 0
}
