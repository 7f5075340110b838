import { type GapReason, SseError } from '../errors.ts'

/**
 * Where a cursor outlives the process. Only one stream at a time uses a store. Errors that it throws reach the user as
 * `ERR_SSE_STORE`.
 */
export interface CursorStore {
  /** The id of the last event that was handled, `''` when the server emptied it, `undefined` when there is none yet. */
  load(): string | undefined | Promise<string | undefined>
  /** Called with one save in flight at most; an id that was overtaken by a newer one meanwhile is skipped. */
  save(id: string): void | Promise<void>
  /** Called once, after the last save. */
  close?(): void | Promise<void>
}

/** Layer 3: the cursor, where it is kept, and gaps. */
export interface ResumeOptions {
  /** The id to start after. Default none: the server decides. A stored id wins over it. */
  lastEventId?: string | undefined
  /** Keeps the id of the last handled event beyond this process, such as `fileStore(path)`. Default none. */
  store?: CursorStore | undefined
  /**
   * When an event counts as handled. `'next'` (default): when the loop asks for the next one, so that `break` and a
   * throw leave the event in hand to be repeated, never lost. `'manual'`: when `stream.ack(event)` was called for it
   * and for every event before it; for readers that run ahead, such as `Readable.from` or parallel handlers.
   */
  ack?: 'next' | 'manual' | undefined
  /**
   * Whether `next` is the id that follows `previous`; an id that is not tells a gap (`missing`). `'decimal'`: ids count
   * up by one. Default none: ids are opaque and skipped ones cannot be seen.
   */
  isNext?: 'decimal' | ((previous: string, next: string) => boolean) | undefined
  /** `'report'` (default) tells gaps as lifecycle events and goes on, `'throw'` ends the stream with `SseGapError`. */
  onGap?: 'report' | 'throw' | undefined
  /**
   * Also sends the id as this query parameter, for servers and gateways that cannot read the header. Default none.
   * The first dial carries it only when there is an id.
   */
  queryParameter?: string | undefined
}

export type ResolvedResume = ResumeOptions & { ack: 'next' | 'manual'; onGap: 'report' | 'throw' }

export const RESUME_DEFAULTS = { ack: 'next', onGap: 'report' } as const satisfies ResumeOptions

/** Proxies and servers begin to refuse header lines at 8 KiB; half of it leaves room for the others. */
const MAX_HEADER_BYTES = 4_096

/**
 * The id as a header value: its UTF-8 octets, one character each, because `Headers` takes bytes only.
 * [spec] "Set (`Last-Event-ID`, lastEventIDValue) in request's header list", with lastEventIDValue "encoded as UTF-8".
 * `undefined` when no header can carry it: control characters, outer spaces, over 4 KiB, or empty.
 */
export function headerValue(id: string): string | undefined {
  if (id === '' || id.length > MAX_HEADER_BYTES) return undefined
  // Space to tilde, and everything from U+0080 up that UTF-8 can carry; outer spaces would be trimmed away.
  if (!/^(?! )[ -~\u{80}-\u{d7ff}\u{e000}-\u{10ffff}]*(?<! )$/u.test(id)) return undefined
  let value = ''
  for (const octet of new TextEncoder().encode(id)) value += String.fromCharCode(octet)
  return value.length > MAX_HEADER_BYTES ? undefined : value
}

/** Whether a header can carry the id as it is, by what is quick to tell: printable ASCII. The usual case. */
function isPlain(id: string): boolean {
  return id.length <= MAX_HEADER_BYTES && /^[!-~]+$/.test(id)
}

function isNextDecimal(previous: string, next: string): boolean {
  return /^\d+$/.test(previous) && /^\d+$/.test(next) && BigInt(next) === BigInt(previous) + 1n
}

/** What the server can be asked to resume after, and what that leaves open. One per stream. */
export class Cursor {
  /** The id in force: the last one received, `''` when it was emptied, `undefined` before any. */
  received: string | undefined
  /** The newest received id that a header can carry. */
  #sendable: string | undefined
  /** Whether an id was ever in force; without one a broken connection is a gap that nobody can close. */
  #everSeen = false
  readonly #isNext: ((previous: string, next: string) => boolean) | undefined

  constructor(isNext: ResumeOptions['isNext']) {
    this.#isNext = isNext === 'decimal' ? isNextDecimal : isNext
  }

  get checksOrder(): boolean {
    return this.#isNext !== undefined
  }

  /** `received` is the id in force now; `find` gives the newest id of this read that passes a test. */
  advance(received: string, find: (accept: (id: string) => boolean) => string | undefined): void {
    this.received = received
    this.#everSeen ||= find(id => id !== '') !== undefined
    // [spec] an empty `id` field resets the last event ID: no header is sent after it.
    const sendable = isPlain(received) ? received : find(id => id === '' || headerValue(id) !== undefined)
    if (sendable !== undefined) this.#sendable = sendable === '' ? undefined : sendable
  }

  /** The id that the next request carries. */
  get sendable(): string | undefined {
    return this.#sendable
  }

  /** What a reconnect has to tell, before any of its events: nobody knows what was sent meanwhile. */
  gapAtReconnect(): GapReason | undefined {
    return this.#everSeen ? undefined : 'no-cursor'
  }

  /** Whether ids were skipped between two neighbours, as far as `isNext` can tell. */
  skipped(previous: string, next: string): boolean {
    if (this.#isNext === undefined) return false
    const answer: unknown = this.#isNext(previous, next)
    if (typeof answer !== 'object' || answer === null || !('then' in answer)) return !answer
    // It would count as true, and its rejection would end the process.
    Promise.resolve(answer).catch(() => {})
    throw new SseError('ERR_SSE_OPTION', 'resume.isNext: returned a promise, not true or false')
  }
}
