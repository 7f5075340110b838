import { Buffer } from 'node:buffer'
import { type HeaderFields, responseHead } from './http.js'
import type { Ledger } from './ledger.js'
import type { Recorder } from './records.js'
import type { LineEnding } from './steps.js'
import { mix, random } from './text.js'

// One write of this size keeps `send(5000)` fast and leaves chunk boundaries inside events, as real servers do.
const WRITE_BYTES = 64 * 1024
const CRLF = Buffer.from('\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** What a reply is written to: a connection, or a counter that only adds up. */
export interface Wire {
  write(...parts: Buffer[]): Promise<void>
  sleep(ms: number): Promise<void>
  turn(): Promise<void>
  until(subscribe: (done: () => void) => () => void): Promise<void>
}

export type Framing = 'chunked' | 'close' | { length: number }

/** Writes one response: head, framing, and the events from `position` on. */
export class Reply {
  headers: HeaderFields = {}
  framing: Framing = 'chunked'
  lineEnding: LineEnding = '\n'
  oneChunkPerEvent = false
  dribble: { bytes: number; everyMs: number } | undefined
  /** The index of the log event that comes next. */
  position: number
  /** Ids of this response count from 1. */
  numberAnew = false
  opened = false
  /** Everything was sent or skipped: `stay()` goes on with what is pushed. */
  live = false
  /** Index of the event whose id is 1. */
  #numberedFrom: number | undefined
  #last: Promise<void> = Promise.resolve()
  #midLine = false
  #writing = 0
  #beating = false

  constructor(
    readonly wire: Wire,
    readonly ledger: Ledger,
    readonly record: Recorder,
    readonly keepAlive: boolean,
    /** A rehearsal: what is written does not count as sent. */
    readonly dry = false,
  ) {
    this.position = ledger.after(record.lastEventId)
    // Chunks are for 1.1 only (RFC 9112, 6.1).
    if (record.httpVersion === '1.0') this.framing = 'close'
  }

  /** Sends the head of the stream unless that was done. */
  async open(): Promise<void> {
    if (this.opened) return
    this.opened = true
    const defaults: Record<string, string> = {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache',
      Connection: this.keepAlive && this.framing !== 'close' ? 'keep-alive' : 'close',
    }
    if (this.framing === 'chunked') defaults['Transfer-Encoding'] = 'chunked'
    else if (this.framing !== 'close') defaults['Content-Length'] = String(this.framing.length)
    await this.head(200, undefined, defaults, this.headers)
  }

  async head(
    status: number,
    reason: string | undefined,
    defaults: Record<string, string>,
    own: HeaderFields,
  ): Promise<void> {
    this.record.status = status
    await this.wire.write(responseHead(status, reason, defaults, own))
  }

  /** Sends bytes of the body, in pieces as the settings say. */
  async body(bytes: Buffer, whole = false): Promise<void> {
    if (bytes.length === 0) return
    // One after the other: a heartbeat must not get between two pieces of a dribbled event.
    const before = this.#last
    let release = () => {}
    this.#last = new Promise(resolve => {
      release = resolve
    })
    this.#writing++
    await before
    this.#midLine = bytes[bytes.length - 1] !== 0x0a && bytes[bytes.length - 1] !== 0x0d
    try {
      const size = this.dribble?.bytes ?? (whole ? bytes.length : WRITE_BYTES)
      for (let at = 0; at < bytes.length; at += size) {
        await this.#chunk(bytes.subarray(at, at + size))
        if (this.dribble === undefined) continue
        if (this.dribble.everyMs > 0) await this.wire.sleep(this.dribble.everyMs)
        else await this.wire.turn()
      }
    } finally {
      this.#writing--
      release()
    }
  }

  text(text: string): Promise<void> {
    return this.body(Buffer.from(text))
  }

  /** A line with its ending, and the blank line after it. */
  block(line: string): Promise<void> {
    return this.text(line + this.lineEnding + this.lineEnding)
  }

  /** The next event of the log as bytes; undefined when there is none. */
  encodeNext(lineEnding = this.lineEnding): Buffer | undefined {
    const { log } = this.ledger
    this.position = Math.max(this.position, log.oldest)
    if (this.position >= log.length) return undefined
    if (this.numberAnew) this.#numberedFrom ??= this.position
    return this.ledger.encode(this.position, lineEnding, this.#numberedFrom)
  }

  /** Sends up to `count` events of the log. */
  async events(count: number): Promise<void> {
    let batch: Buffer[] = []
    let indices: number[] = []
    let size = 0
    const flush = async () => {
      const bytes = batch.length === 1 ? batch[0] : undefined
      if (!this.dry) this.ledger.offered(this.position - 1)
      await this.body(bytes ?? Buffer.concat(batch), this.oneChunkPerEvent)
      for (const index of this.dry ? [] : indices) this.ledger.wrote(index, this.record)
      batch = []
      indices = []
      size = 0
    }
    for (let left = count; left > 0; left--) {
      const bytes = this.encodeNext()
      if (bytes === undefined) break
      batch.push(bytes)
      indices.push(this.position++)
      size += bytes.length
      if (size >= WRITE_BYTES || this.oneChunkPerEvent || this.dribble !== undefined) await flush()
    }
    await flush()
  }

  /** Chooses the event that comes next. */
  moveTo(position: number): void {
    this.position = Math.max(position, this.ledger.log.oldest)
    this.live = position >= this.ledger.log.length
  }

  /** Sends everything up to the end of the log. */
  async rest(): Promise<void> {
    do await this.events(Number.POSITIVE_INFINITY)
    while (this.position < this.ledger.log.length)
    this.live = true
  }

  /** Sends everything, and whatever is pushed until the connection ends. */
  async follow(): Promise<void> {
    for (;;) {
      await this.rest()
      if (this.position >= this.ledger.log.length) await this.wire.until(done => this.ledger.log.onPush(done))
    }
  }

  /** `piece` again and again until `maxBytes` were sent. */
  async repeat(start: string, piece: string, maxBytes: number, finish = ''): Promise<void> {
    await this.text(start)
    const block = Buffer.from(piece.repeat(Math.ceil(WRITE_BYTES / piece.length)))
    for (let left = maxBytes; left > 0; left -= block.length)
      await this.body(left < block.length ? block.subarray(0, left) : block)
    await this.text(finish)
  }

  /** A comment every so often: `count` of them, or beside the script until {@link quiet}. */
  async heartbeats(everyMs: number, jitter: number, count: number | undefined): Promise<void> {
    const next = random(mix(0x6865, this.record.index))
    const pause = () => this.wire.sleep(everyMs * (1 + jitter * (2 * next() - 1)))
    for (let n = 0; count !== undefined && n < count; n++) {
      await pause()
      await this.block(': heartbeat')
    }
    if (count !== undefined) return
    this.#beating = true
    const beat = async () => {
      while (this.#beating) {
        await pause()
        // In the middle of a line a comment would become part of it; bytes are flowing anyway.
        if (this.#beating && !this.#midLine && this.#writing === 0) await this.block(': heartbeat')
      }
    }
    // The connection's end stops it; the script notices that by itself.
    beat().catch(() => {})
  }

  /** No more heartbeats. */
  quiet(): void {
    this.#beating = false
  }

  /** Ends the body as HTTP wants it; false when only the end of the socket can do that. */
  async complete(): Promise<boolean> {
    this.quiet()
    if (this.framing === 'chunked') await this.wire.write(LAST_CHUNK)
    return this.keepAlive && this.framing !== 'close'
  }

  async #chunk(bytes: Buffer): Promise<void> {
    if (this.framing !== 'chunked') return this.wire.write(bytes)
    return this.wire.write(Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CRLF)
  }
}
