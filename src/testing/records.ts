import type { Meter } from './connection.js'
import type { ParsedRequest } from './http.js'

/** One request that reached the server, and what became of it. Times are `performance.now()` in milliseconds. */
export interface RecordedRequest {
  /** 0 for the first request. */
  readonly index: number
  readonly method: string
  /** The request target as it was sent, with its query. */
  readonly url: string
  /** A request of 1.0 is answered without chunks; its body ends with the connection. */
  readonly httpVersion: '1.0' | '1.1'
  /** Names in lower case; of a repeated field the last value. Values as Latin-1, as they came. */
  readonly headers: Readonly<Record<string, string>>
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  readonly body: string
  /** When the request was complete. */
  readonly at: number
  /** Which TCP connection brought it, counted from 1; requests on a kept-alive socket share it. */
  readonly connectionId: number
  /** The address that was dialled. */
  readonly localAddress: string
  /** `Last-Event-ID`, decoded from UTF-8; undefined when the header was missing. */
  readonly lastEventId: string | undefined
  /** The status that was answered; undefined while there was none. */
  readonly status: number | undefined
  /** Bytes given to the socket, head and framing included. */
  readonly bytesWritten: number
  /** Events of the log that were written completely. */
  readonly eventsWritten: number
  /** Index in the log of the first and the last event written. */
  readonly firstIndex: number | undefined
  readonly lastIndex: number | undefined
  /** How long the server has waited, in all and until now, because the client did not read. */
  readonly writeBlockedMs: number
  /** When the answer was complete, or its connection gone; undefined while it is open. */
  readonly closedAt: number | undefined
  /** Who ended it. A complete answer on a socket that stays open counts as `'server'`. */
  readonly closedBy: 'client' | 'server' | undefined
}

/** One fault that struck. */
export interface FaultRecord {
  /** Index of the request it struck. */
  readonly request: number
  /** The word that caused it: `'reset'`, `'cutInside'`, `'answer'` … */
  readonly kind: string
  /** What the word was given, in short: `'character'`, `'503'`; undefined when there is nothing to add. */
  readonly detail: string | undefined
  /** When it struck, `performance.now()` in milliseconds. */
  readonly at: number
  /** Index of the log event that would have come next. */
  readonly position: number
}

/** The record while it is being written. */
export class Recorder implements RecordedRequest, Meter {
  readonly method: string
  readonly url: string
  readonly httpVersion: '1.0' | '1.1'
  readonly headers: Readonly<Record<string, string>>
  readonly rawHeaders: readonly string[]
  readonly body: string
  readonly at = performance.now()
  readonly lastEventId: string | undefined
  status: number | undefined = undefined
  bytesWritten = 0
  eventsWritten = 0
  firstIndex: number | undefined = undefined
  lastIndex: number | undefined = undefined
  closedAt: number | undefined = undefined
  closedBy: 'client' | 'server' | undefined = undefined
  blockedSince: number | undefined = undefined
  blockedMs = 0

  constructor(
    readonly index: number,
    readonly connectionId: number,
    readonly localAddress: string,
    request: ParsedRequest,
  ) {
    this.method = request.method
    this.url = request.url
    this.httpVersion = request.httpVersion
    this.headers = request.headers
    this.rawHeaders = request.rawHeaders
    this.body = request.body
    const id = request.headers['last-event-id']
    // Node and undici write the octets of a header one to one; the ids in the log are text.
    this.lastEventId = id === undefined ? undefined : Buffer.from(id, 'latin1').toString('utf8')
  }

  get writeBlockedMs(): number {
    return this.blockedMs + (this.blockedSince === undefined ? 0 : performance.now() - this.blockedSince)
  }

  wrote(index: number): void {
    this.eventsWritten++
    this.firstIndex ??= index
    this.lastIndex = index
  }

  close(by: 'client' | 'server'): void {
    if (this.closedAt !== undefined) return
    this.closedAt = performance.now()
    this.closedBy = by
  }

  /** A plain object: the getter above would be lost in JSON. */
  toJSON(): RecordedRequest {
    const { blockedSince: _, blockedMs: __, ...plain } = this
    return { ...plain, headers: { ...this.headers }, writeBlockedMs: this.writeBlockedMs }
  }
}
