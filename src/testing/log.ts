import { Buffer } from 'node:buffer'
import { FaultServerOptionError } from './errors.js'
import { mix, random, textOf } from './text.js'

/** One event as a server sends it. `data` may have several lines; `id` and `event` are one line each. */
export interface ServerEvent {
  data: string
  id?: string
  event?: string
}

/**
 * What the ids of a log look like.
 *
 * - `'opaque'`: 16 characters of base 36, in no order. Nothing can be computed from them; the default, because it is
 *   what a client must be able to live with.
 * - `'uuid'`: 36 characters. `'decimal'`: 1, 2, 3 …; `{ start: n }`: n, n + 1, n + 2 …
 * - `'none'`: events without ids. `'duplicate'`: four events in a row share one id.
 * - `'non-latin-1'`: characters that no header can carry unless it is sent as UTF-8 bytes.
 * - `'control'`: contains U+0001, which no header can carry at all. `'long'`: 20,000 characters.
 */
export type IdStyle =
  | 'opaque'
  | 'decimal'
  | 'uuid'
  | 'none'
  | 'duplicate'
  | 'non-latin-1'
  | 'control'
  | 'long'
  | { start: number }

export interface EventLogOptions {
  /** How many events the log holds at first, 0 or more. Default 100: enough for a fault in the middle. */
  count?: number
  /** What the ids look like. Default `'opaque'`. */
  ids?: IdStyle
  /** UTF-8 bytes of `data`, 0 or more: a number, or `[smallest, largest]`. Default `[20, 200]`: quick to send. */
  bytes?: number | readonly [number, number]
  /** The `event:` field of every event. Default none, so that clients see `message`. */
  event?: string
  /** An integer. The same options with the same seed give the same bytes in every process. Default 1. */
  seed?: number
}

const NAMES = ['count', 'ids', 'bytes', 'event', 'seed']
const STYLES = ['opaque', 'decimal', 'uuid', 'none', 'duplicate', 'non-latin-1', 'control', 'long'] as const

/**
 * Bytes of an event on the wire: `id`, then `event`, then one `data` line per line, then a blank line. The id comes
 * first, so that an event cut in half has shown its id already, as real servers do.
 */
export function encodeEvent(event: ServerEvent, lineEnding: '\n' | '\r\n' | '\r' = '\n'): Buffer {
  let text = ''
  if (event.id !== undefined) text += `id: ${oneLine('id', event.id)}${lineEnding}`
  if (event.event !== undefined) text += `event: ${oneLine('event', event.event)}${lineEnding}`
  const { data } = event
  text +=
    data.includes('\n') || data.includes('\r')
      ? data
          .split(/\r\n|\r|\n/)
          .map(line => `data: ${line}${lineEnding}`)
          .join('')
      : `data: ${data}${lineEnding}`
  return Buffer.from(text + lineEnding)
}

function oneLine(field: string, value: string): string {
  if (/[\r\n]/.test(value)) throw new FaultServerOptionError(field, value, 'one line of text')
  return value
}

/**
 * A deterministic log of events. Data is made when it is asked for and never kept, so that a log of several gigabytes
 * costs nothing; another process with the same options gets the same bytes and can compare what it received.
 */
export function eventLog(options: EventLogOptions = {}): EventLog {
  return new EventLog(options)
}

export class EventLog {
  readonly options: Readonly<EventLogOptions>
  readonly #count: number
  readonly #seed: number
  readonly #ids: IdStyle
  readonly #min: number
  readonly #max: number
  readonly #pushed: ServerEvent[] = []
  readonly #index = new Map<string, number>()
  readonly #listeners = new Set<() => void>()
  #indexed = 0
  #oldest = 0

  /** Use {@link eventLog}. */
  constructor(options: EventLogOptions) {
    for (const name of Object.keys(options))
      if (!NAMES.includes(name))
        throw new FaultServerOptionError(`log.${name}`, name, `one of ${NAMES.join(', ')}`)
    const { count = 100, ids = 'opaque', bytes = [20, 200], seed = 1, event } = options
    const range = typeof bytes === 'number' ? [bytes, bytes] : bytes
    const [min, max] = Array.isArray(range) && range.length === 2 ? range : [-1, -1]
    if (!isCount(count)) throw new FaultServerOptionError('log.count', count, 'an integer of 0 or more')
    if (!isCount(min) || !isCount(max) || min > max)
      throw new FaultServerOptionError('log.bytes', bytes, 'a size of 0 or more, or [smallest, largest]')
    if (!Number.isSafeInteger(seed)) throw new FaultServerOptionError('log.seed', seed, 'an integer')
    const known = typeof ids === 'object' ? isCount(ids?.start) : STYLES.some(style => style === ids)
    if (!known) throw new FaultServerOptionError('log.ids', ids, `${STYLES.join(', ')} or { start: n }`)
    if (event !== undefined) oneLine('log.event', event)
    this.options = { ...options }
    this.#count = count
    this.#seed = seed
    this.#ids = ids
    this.#min = min
    this.#max = max
  }

  /** How many events there are, pushed and forgotten ones included. */
  get length(): number {
    return this.#count + this.#pushed.length
  }

  /** The first index that can still be replayed; 0 until something was forgotten. */
  get oldest(): number {
    return this.#oldest
  }

  /** The event at an index from 0 to `length - 1`; made anew on each call. */
  at(index: number): ServerEvent {
    const pushed = this.#pushed[index - this.#count]
    if (pushed !== undefined) return pushed
    this.#check(index)
    const { event } = this.options
    const id = this.idAt(index)
    return {
      data: this.#data(index).toString('utf8'),
      ...(id === undefined ? {} : { id }),
      ...(event === undefined ? {} : { event }),
    }
  }

  /** The id at an index, without making its data. */
  idAt(index: number): string | undefined {
    const pushed = this.#pushed[index - this.#count]
    if (pushed !== undefined) return pushed.id
    this.#check(index)
    return styledId(this.#ids, this.#seed, index)
  }

  /** The index of the last event with this id, or -1. Forgotten events are found too: their ids are still known. */
  indexOfId(id: string): number {
    for (; this.#indexed < this.length; this.#indexed++) {
      const known = this.idAt(this.#indexed)
      if (known !== undefined) this.#index.set(known, this.#indexed)
    }
    return this.#index.get(id) ?? -1
  }

  /**
   * Appends an event. An open stream that has sent everything before it (in `follow()` or `stay()`) sends it at once.
   * Returns its index.
   */
  push(event: ServerEvent): number {
    if (typeof event?.data !== 'string')
      throw new FaultServerOptionError('push.data', event?.data, 'a string')
    if (event.id !== undefined) oneLine('push.id', event.id)
    if (event.event !== undefined) oneLine('push.event', event.event)
    this.#pushed.push({ ...event })
    for (const listener of [...this.#listeners]) listener()
    return this.length - 1
  }

  /**
   * Evicts the first `count` events of the log from the replay buffer, as a server with bounded memory does. Whoever
   * resumes from one of them goes on at the oldest event kept: the ones between are lost.
   */
  forget(count: number): void {
    if (!isCount(count)) throw new FaultServerOptionError('forget.count', count, 'an integer of 0 or more')
    this.#oldest = Math.max(this.#oldest, Math.min(count, this.length))
  }

  /** Calls `listener` after each push; returns a function that stops it. */
  onPush(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The event at an index as bytes on the wire, with another id if one is given. Quicker than by way of {@link at}. */
  encode(index: number, lineEnding: '\n' | '\r\n' | '\r' = '\n', id = this.idAt(index)): Buffer {
    const pushed = this.#pushed[index - this.#count]
    if (pushed !== undefined) return encodeEvent(id === undefined ? pushed : { ...pushed, id }, lineEnding)
    const { event } = this.options
    const fields = id === undefined ? '' : `id: ${id}${lineEnding}`
    const parts: Buffer[] = [
      Buffer.from(event === undefined ? fields : `${fields}event: ${event}${lineEnding}`),
    ]
    const field = Buffer.from('data: ')
    const eol = Buffer.from(lineEnding)
    const data = this.#data(index)
    for (let from = 0; from <= data.length; ) {
      const newline = data.indexOf(0x0a, from)
      const to = newline === -1 ? data.length : newline
      parts.push(field, data.subarray(from, to), eol)
      from = to + 1
    }
    return Buffer.concat([...parts, eol])
  }

  #data(index: number): Buffer {
    const spread = this.#max - this.#min + 1
    const bytes = this.#min + Math.floor((mix(this.#seed ^ 0x5bd1e995, index) / 0x1_0000_0000) * spread)
    return textOf(this.#seed, index, bytes)
  }

  #check(index: number): void {
    if (!isCount(index) || index >= this.length)
      throw new FaultServerOptionError('index', index, `an integer from 0 to ${this.length - 1}`)
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

function styledId(style: IdStyle, seed: number, index: number): string | undefined {
  if (typeof style === 'object') return String(style.start + index)
  switch (style) {
    case 'none':
      return undefined
    case 'decimal':
      return String(index + 1)
    case 'duplicate':
      return `batch-${Math.floor(index / 4)}`
    case 'non-latin-1':
      return `é-豆腐-${index}`
    case 'control':
      return `\x01-${index}`
    case 'long':
      return `${index}-`.padEnd(20_000, 'abcdefghijklmnopqrstuvwxyz')
    case 'uuid': {
      const hex = digits(seed, index, 16, 32)
      return [
        hex.slice(0, 8),
        hex.slice(8, 12),
        `4${hex.slice(13, 16)}`,
        `a${hex.slice(17, 20)}`,
        hex.slice(20),
      ].join('-')
    }
    default:
      return digits(seed, index, 36, 16)
  }
}

function digits(seed: number, index: number, base: number, length: number): string {
  const next = random(mix(seed ^ 0x1d, index))
  let text = ''
  while (text.length < length) text += Math.floor(next() * base).toString(base)
  return text
}
