import type { HeaderFields } from './http.js'
import type { BodyStep, EndStep, HeadStep, LineEnding, PositionStep, SettingStep } from './steps.js'

// What is not given is left out, so that a step looks the same before and after a trip through JSON.
function given<T extends object>(step: T): T {
  return Object.fromEntries(Object.entries(step).filter(([, value]) => value !== undefined)) as T
}

// — Which event comes next ———————————————————————————————————————————————————————————————————————————————————————————

/**
 * Sends events again that the client has already: the last `overlap` before the resume position, or `'all'` from the
 * first one kept, as a server does that ignores `Last-Event-ID`.
 */
export const replay = (how: 'all' | { overlap: number }): PositionStep => ({
  do: 'replay',
  overlap: how === 'all' ? 'all' : how.overlap,
})

/** Ignores `Last-Event-ID`: starts with the first event kept. */
export const ignoreId = (): PositionStep => ({ do: 'ignoreId' })

/** Live only: skips everything that is in the log now, as a server without a replay buffer does. */
export const fromNow = (): PositionStep => ({ do: 'fromNow' })

/** Starts at an index of the log (0 = its first event), whatever the client asked for. */
export const startAt = (index: number): PositionStep => ({ do: 'startAt', index })

/** Loses `count` events: they are never sent on this connection. */
export const skip = (count: number): PositionStep => ({ do: 'skip', count })

/** Numbers the ids of this response 1, 2, 3 …, with the same data: what common frameworks do on each response. */
export const numberAnew = (): PositionStep => ({ do: 'numberAnew' })

// — How it is written ————————————————————————————————————————————————————————————————————————————————————————————————

/**
 * Sends everything after it on this connection in pieces of `bytes` bytes (default 1), each a chunk of its own, one
 * every `everyMs` milliseconds (default 0: as fast as the event loop turns).
 */
export const dribble = ({
  bytes = 1,
  everyMs = 0,
}: {
  bytes?: number
  everyMs?: number
} = {}): SettingStep => ({
  do: 'dribble',
  bytes,
  everyMs,
})

/** Writes each event as one chunk; without it, events share writes of about 64 KiB, because that is fast. */
export const oneChunkPerEvent = (): SettingStep => ({ do: 'oneChunkPerEvent' })

/** Ends the lines of events, comments and fields with `'\n'` (the default), `'\r\n'` or `'\r'`. */
export const lineEnding = (ending: LineEnding): SettingStep => ({ do: 'lineEnding', ending })

// — Before the answer ————————————————————————————————————————————————————————————————————————————————————————————————

/** Waits `ms` milliseconds before the first byte of the answer. */
export const hold = (ms: number): HeadStep => ({ do: 'hold', ms })

/** Adds response headers or overrides them (another content type, CORS …); `null` removes one. */
export const headers = (fields: HeaderFields): HeadStep => ({ do: 'headers', headers: fields })

/**
 * No framing: `Connection: close`, and the body lasts until the socket ends. Such a body, when it is cut, cannot be
 * told from a complete one.
 */
export const closeDelimited = (): HeadStep => ({ do: 'closeDelimited' })

/**
 * A body of known length. The length is computed from the script (one byte more than is sent when it ends in a cut or
 * a reset, so that the truncation can be seen), or declared as given. Words without an end need it given.
 */
export const contentLength = (bytes?: number): HeadStep => given({ do: 'contentLength', bytes }) as HeadStep

// — The body —————————————————————————————————————————————————————————————————————————————————————————————————————————

/** Sends the next `count` events of the log, or as many as there are; `send(0)` sends the headers only. */
export const send = (count: number): BodyStep => ({ do: 'send', count })

/** Sends everything that is left in the log. */
export const rest = (): BodyStep => ({ do: 'rest' })

/** Sends everything that is left, then each event as it is pushed, until the connection ends. */
export const follow = (): BodyStep => ({ do: 'follow' })

/** Sends an event that is not in the log, such as an `error` event or a greeting without an id. */
export const event = (fields: { data: string; id?: string; event?: string }): BodyStep =>
  given({ do: 'event', data: fields.data, id: fields.id, event: fields.event }) as BodyStep

/** Sends a block of nothing but an id: it moves the cursor and delivers nothing. */
export const idOnly = (id: string): BodyStep => ({ do: 'idOnly', id })

/** Sends a `retry:` field. Any text is possible: `'0'`, `'99999999999'`, 400 digits, `'soon'`. */
export const retry = (ms: string | number): BodyStep => ({ do: 'retry', ms: String(ms) })

/** Sends one comment line and a blank line. */
export const comment = (text = 'keep-alive'): BodyStep => ({ do: 'comment', text })

/**
 * Sends a comment every `everyMs` milliseconds, give or take the share `jitter` (0 to 1, default 0). With `count` the
 * script waits for that many; without, they go on beside the rest of the script until `silence()` or the end, never
 * inside an event.
 */
export const heartbeats = (rhythm: { everyMs: number; jitter?: number; count?: number }): BodyStep =>
  given({ do: 'heartbeats', everyMs: rhythm.everyMs, jitter: rhythm.jitter, count: rhythm.count }) as BodyStep

/** Sends text as it is, in UTF-8. */
export const raw = (text: string): BodyStep => ({ do: 'raw', text })

/** Sends bytes as they are, such as invalid UTF-8. */
export const rawBytes = (bytes: readonly number[]): BodyStep => ({ do: 'rawBytes', bytes: [...bytes] })

/** Sends the headers, if that has not happened, and nothing for `ms` milliseconds. */
export const wait = (ms: number): BodyStep => ({ do: 'wait', ms })

/** Sends one event of `chars` characters of data in one line (64 MiB: `bigEvent(64 * 1024 * 1024)`), in pieces. */
export const bigEvent = (chars: number, { id }: { id?: string } = {}): BodyStep =>
  given({ do: 'bigEvent', chars, id }) as BodyStep

// A client that never gives up must not fill the memory of the test machine; 256 MiB is over any sane limit.
const ENDLESS_BYTES = 256 * 1024 * 1024

/** A `data:` line that never ends: until the client goes away or `maxBytes` (default 256 MiB) were sent. */
export const endlessLine = ({ maxBytes = ENDLESS_BYTES } = {}): BodyStep => ({ do: 'endlessLine', maxBytes })

/** `data:` lines that never end in a blank line, with the same limit. */
export const endlessData = ({ maxBytes = ENDLESS_BYTES } = {}): BodyStep => ({ do: 'endlessData', maxBytes })

/** A comment line that never ends, with the same limit. */
export const endlessComment = ({ maxBytes = ENDLESS_BYTES } = {}): BodyStep => ({
  do: 'endlessComment',
  maxBytes,
})

// — The end of a stream ——————————————————————————————————————————————————————————————————————————————————————————————

/** Ends the body as HTTP wants it (last chunk). A script without an end word ends like this too. */
export const end = (): EndStep => ({ do: 'end' })

/** Closes the socket (FIN) without the last chunk; before any other word, without an answer. */
export const cut = (): EndStep => ({ do: 'cut' })

/**
 * Resets the connection (RST); before any other word, without an answer. `flushed` (default true) first lets the bytes
 * already written reach the client, for a second at most; with false the reset may overtake them, as it does in real
 * networks. libuv reports a RST that it meets together with data as a plain end: a client on Node then sees a cut.
 */
export const reset = ({ flushed = true } = {}): EndStep => ({ do: 'reset', flushed })

/**
 * Sends a part of the next event and dies: half of it, up to the middle of a multi-byte character, or up to between
 * the CR and the LF of its last data line. The event counts as not delivered. `by`: FIN (default) or RST.
 */
export const cutInside = (
  where: 'event' | 'character' | 'crlf',
  { by = 'fin' }: { by?: 'fin' | 'rst' } = {},
): EndStep => ({ do: 'cutInside', where, by })

/** The socket stays open and nothing is sent any more, no heartbeats either: a dead stream that looks alive. */
export const silence = (): EndStep => ({ do: 'silence' })

/**
 * The stream stays open and is healthy: heartbeats go on, and a client that has everything is sent what is pushed to
 * the log meanwhile.
 */
export const stay = (): EndStep => ({ do: 'stay' })
