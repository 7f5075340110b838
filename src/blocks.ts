import { createParser } from 'eventsource-parser'
import { createDecoder } from './decode.ts'
import { SseError } from './errors.ts'
import type { Batch, SseEvent } from './event.ts'

export interface BlockReaderOptions {
  maxEventChars: number
  onCommentParsed: () => void
  /** Comments that no event of the same read precedes; the others stand in the parts. `undefined`: nobody listens. */
  onComment: ((comment: string) => void) | undefined
  onRetry: (ms: number) => void
}

/** A stretch of one read that no comment cuts, with the comments before it. */
export interface Part {
  comments: string[]
  batch: Batch
}

const NO_MOVES: Batch['cursorMoves'] = []

/** Turns the bytes of one connection into batches: events, and ids of blocks that had no data. */
export class BlockReader {
  /** Characters since the last blank line: of an event that was begun and not ended. */
  pendingChars = 0
  readonly #decoder = createDecoder()
  readonly #feed: (text: string) => void
  /** Empties the lists that the parser fills, and gives them out: one part at least. */
  readonly #take: () => Part[]
  /** The last characters of the text before: a blank line may be cut in two. */
  #tail = ''

  constructor({ maxEventChars, onCommentParsed, onComment, onRetry }: BlockReaderOptions) {
    // Variables, not fields: they are touched once per event.
    let events: SseEvent[] = []
    let cursorMoves = NO_MOVES
    let comments: string[] = []
    let parts: Part[] = []
    // The id of the block that ends now. An event takes it, so what is left over was a block without data.
    let blockId: string | undefined
    const moveCursor = (id: string) => {
      if (cursorMoves === NO_MOVES) cursorMoves = []
      cursorMoves.push({ id, at: events.length })
      blockId = undefined
    }
    const endPart = () => {
      parts.push({ comments, batch: { events, cursorMoves } })
      comments = []
      events = []
      cursorMoves = NO_MOVES
    }
    const parser = createParser({
      maxBufferSize: maxEventChars,
      onEvent: event => {
        // Its own id stands in the event; another one is that of a block before it, which had no data.
        if (blockId !== undefined && event.id === undefined) moveCursor(blockId)
        blockId = undefined
        // The parser's own limit misses an event that is complete in one chunk.
        if (event.data.length > maxEventChars) throw tooLarge(maxEventChars)
        events.push(event)
      },
      onId: id => {
        if (blockId !== undefined) moveCursor(blockId)
        blockId = id
      },
      onComment: comment => {
        onCommentParsed()
        if (onComment === undefined) return
        if (parts.length === 0 && events.length === 0) return onComment(comment)
        if (blockId !== undefined) moveCursor(blockId)
        if (events.length > 0) endPart()
        comments.push(comment)
      },
      onRetry,
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded') throw tooLarge(maxEventChars)
      },
    })
    // The parser looks for a BOM in what it is fed first, and takes U+00EF U+00BB U+00BF for one, too, which are text
    // here: the decoder has stripped the BOM. A blank line before the stream means nothing.
    parser.feed('\n')
    this.#feed = text => {
      parser.feed(text)
      if (blockId !== undefined) moveCursor(blockId)
    }
    this.#take = () => {
      endPart()
      const taken = parts
      parts = []
      return taken
    }
  }

  /** The blocks that these bytes end. `error`: the block after them is too large, and nothing more can be read. */
  read(chunks: readonly Uint8Array[]): { parts: Part[]; error: unknown } {
    try {
      for (const chunk of chunks) {
        const text = this.#decoder.decode(chunk)
        this.#feed(text)
        this.#measure(text)
      }
      return { parts: this.#take(), error: undefined }
    } catch (error) {
      return { parts: this.#take(), error }
    }
  }

  #measure(text: string): void {
    const end = endOfLastBlock(text) || endOfLastBlock(this.#tail + text.slice(0, 3)) - this.#tail.length
    this.pendingChars = end > 0 ? text.length - end : this.pendingChars + text.length
    this.#tail = text.length < 3 ? (this.#tail + text).slice(-3) : text.slice(-3)
  }
}

function tooLarge(maxEventChars: number): SseError {
  return new SseError(
    'ERR_SSE_EVENT_TOO_LARGE',
    `An event (or a line that never ends) exceeds maxEventChars, ${maxEventChars}; the same one would come again`,
  )
}

/** The position after the last blank line, 0 when there is none. */
function endOfLastBlock(text: string): number {
  for (const blank of ['\n\n', '\r\n\r\n', '\r\r']) {
    const at = text.lastIndexOf(blank)
    if (at !== -1) return at + blank.length
  }
  return 0
}
