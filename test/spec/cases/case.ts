// A case is data: it can be sent to a page or a worker as JSON, and nothing here needs Node.

/** Text in UTF-8, bytes in hex, or letters that would be tedious to write down. */
export type Bytes = string | { hex: string } | Letters

/** Letters drawn from a seed, see {@link lettersOf}. */
export interface Letters {
  letters: number
  seed: number
}

/** What is sent in one chunk, or a silence before the next one. */
export type Piece = Bytes | Bytes[] | { pauseMs: number }

/** What the server does with one dial. */
export interface Answer {
  /** Before the head of the response. */
  delayMs?: number
  /** Default 200. */
  status?: number
  /** Default `text/event-stream`; `null`: the response has none. Only a 200 has one by default. */
  contentType?: string | null
  /** Further headers. In a value `{here}` stands for the path and query of the request, `{origin}` for the server. */
  headers?: [name: string, value: string][]
  body?: Piece[]
  /**
   * After the body: a `clean` end, a `cut` (FIN inside the chunked body), a `reset` (RST), or nothing (`hold`). Default
   * `hold` for an event stream, `clean` for everything else. `refuse`: a reset instead of any answer.
   */
  end?: 'clean' | 'cut' | 'reset' | 'hold' | 'refuse'
}

/** What the client is asked for, in terms of `ResilientSse`. What is absent is left at its default. */
export interface ClientOptions {
  method?: string
  headers?: Record<string, string>
  /** May be sent again at each dial. */
  body?: string
  lastEventId?: string
  /** The delay before the first retry. */
  baseMs?: number
  /** Silence after which the connection is given up. */
  silenceMs?: number
  /** The caller asks for a new connection after this many events. */
  reconnectAfter?: number
  /** The caller closes the stream when it opens, or at this event (1 is the first). */
  closeAt?: 'open' | number
  /** The caller closes the stream after this long. */
  closeAfterMs?: number
}

/** An event as `EventSource` shows it: the type by default is `message`, the last event ID is inherited. */
export interface ExpectedEvent {
  type: string
  data: string | Letters
  lastEventId: string
}

export interface ExpectedDial {
  /** Default GET. */
  method?: string
  /** The value of the Last-Event-ID header, as text. Default: there is no such header. */
  lastEventId?: string
  /** Exact values of other headers; `null`: the header is absent. */
  headers?: Record<string, string | null>
  body?: string
  /** Milliseconds since the dial before. */
  afterMs?: { least: number; most: number }
}

/**
 * `open`, or `ended` (the server said that there is no more: 204), `failed` (the connection may not be tried again) or
 * `closed` (by the caller). To an `EventSource` all three are CLOSED; after the first two it tells an error.
 */
export type FinalState = 'open' | 'ended' | 'failed' | 'closed'

/**
 * What an `EventSource` tells, in order: `open`, each event, and errors by the state after them. The core tells the same
 * by its lifecycle.
 */
export type Told = 'open' | 'event' | 'error: connecting' | 'error: closed'

export interface Expected {
  events: ExpectedEvent[]
  /** All comments in order; looked at by clients that can tell them. */
  comments?: string[]
  /** Every dial, and no other. */
  dials: ExpectedDial[]
  state: FinalState
  told?: Told[]
  /** `readyState` when constructed, when told `open`, and at the end. */
  readyStates?: number[]
  /** How long after that nothing else may happen. */
  quietMs?: number
}

export type Suite = 'standard' | 'contract' | 'web-platform'

export interface Case {
  /** Stable; a part of the URL under which the case is served. */
  id: string
  suite: Suite
  /** A sentence; of the standard's clauses it begins with the clause. */
  name: string
  client?: ClientOptions
  /** One per dial. */
  answers: Answer[]
  expected: Expected
  /** Nothing that the core could show. */
  only?: 'eventsource'
}

export function titleOf({ suite, name }: Case): string {
  return suite === 'standard' ? name : `${suite}: ${name}`
}

export function event(data: string | Letters, lastEventId = '', type = 'message'): ExpectedEvent {
  return { type, data, lastEventId }
}

/** The usual case: one dial, a body, and the connection stays open. */
export function stream(
  suite: Suite,
  id: string,
  name: string,
  body: Piece[],
  events: ExpectedEvent[],
  comments?: string[],
): Case {
  return {
    id: `${suite}-${id}`,
    suite,
    name,
    answers: [{ body }],
    expected: { events, dials: [{}], state: 'open', ...(comments && { comments }) },
  }
}

/** Text in chunks of so many bytes. The text is ASCII, or `size` is 1. */
export function inChunks(text: string, size: number, pauseMs = 0): Piece[] {
  const bytes = new TextEncoder().encode(text)
  const pieces: Piece[] = []
  for (let at = 0; at < bytes.length; at += size) {
    if (pauseMs > 0 && at > 0) pieces.push({ pauseMs })
    pieces.push({ hex: hexOf(bytes.slice(at, at + size)) })
  }
  return pieces
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

const drawn = new Map<string, string>()

/** The alphabet of base64 in random order: text without a line end, of which no two parts are alike. Drawn once. */
export function lettersOf({ letters, seed }: Letters): string {
  const key = `${letters} from ${seed}`
  const text = drawn.get(key) ?? drawLetters(letters, seed)
  drawn.set(key, text)
  return text
}

function drawLetters(count: number, seed: number): string {
  const codes = new Uint8Array(count)
  let state = seed
  for (let at = 0; at < count; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    codes[at] = ALPHABET.charCodeAt(state >>> 26)
  }
  return new TextDecoder().decode(codes)
}

export function textOf(text: string | Letters): string {
  return typeof text === 'string' ? text : lettersOf(text)
}

export function bytesOf(bytes: Bytes): Uint8Array {
  if (typeof bytes === 'string') return new TextEncoder().encode(bytes)
  if ('letters' in bytes) return new TextEncoder().encode(lettersOf(bytes))
  return Uint8Array.from(bytes.hex.match(/../g) ?? [], byte => Number.parseInt(byte, 16))
}
