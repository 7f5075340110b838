/** What a reader makes of one connection. */
export interface Reading {
  /** `id`: the block's own; `lastEventId`: the one in force, as `EventSource` shows it. */
  events: { type: string; data: string; id: string | undefined; lastEventId: string }[]
  /** `events`: how many came before it. */
  comments: { comment: string; events: number }[]
  /** Each reconnection time that was set. */
  retries: number[]
  /** The last event ID at the end; `undefined`: no block had one. */
  cursor: string | undefined
  /** What the next request carries as Last-Event-ID; `undefined`: no such header. */
  resumesAfter: string | undefined
}

/**
 * Reads an event stream as the HTML standard has it in 9.2.5 and 9.2.6: one character after the other, and all of it at
 * hand. It is there to be compared with, so it is slow and follows the text.
 *
 * Where this package differs on purpose: an event of more than `maxEventChars` ends the stream (of an event of nearly that
 * size it depends on the chunks, because the field names of a line that is not complete count, too), and an id that
 * servers refuse in a header is not sent, but the newest one that they take. Where the standard leaves it open, both do
 * as browsers do: a last line without its line end means nothing, not even `retry`.
 */
export function referenceReading(bytes: Uint8Array): Reading {
  const reading: Reading = {
    events: [],
    comments: [],
    retries: [],
    cursor: undefined,
    resumesAfter: undefined,
  }
  let data = ''
  let eventType = ''
  let id: string | undefined
  for (const line of linesOf(decode(bytes))) {
    if (line === '') dispatch()
    else if (line[0] === ':') {
      reading.comments.push({ comment: withoutSpace(line.slice(1)), events: reading.events.length })
    } else processLine(line)
  }
  return reading

  function processLine(line: string): void {
    let name = ''
    let at = 0
    while (at < line.length && line[at] !== ':') name += line[at++]
    processField(name, withoutSpace(line.slice(at + 1)))
  }

  function processField(name: string, value: string): void {
    if (name === 'event') eventType = value
    if (name === 'data') data += `${value}\n`
    if (name === 'id' && !value.includes('\0')) id = value
    if (name === 'retry' && value !== '' && [...value].every(char => '0123456789'.includes(char))) {
      reading.retries.push(Number(value))
    }
  }

  function dispatch(): void {
    if (id !== undefined) setId(id)
    if (data !== '') {
      const lastEventId = reading.cursor ?? ''
      reading.events.push({ type: eventType || 'message', data: data.slice(0, -1), id, lastEventId })
    }
    data = ''
    eventType = ''
    id = undefined
  }

  function setId(value: string): void {
    reading.cursor = value
    if (value === '') reading.resumesAfter = undefined
    else if (headerMayHold(value)) reading.resumesAfter = value
  }
}

/** Neither control characters, nor spaces at its ends, which are trimmed on the way. */
function headerMayHold(id: string): boolean {
  const hasControl = [...id].some(char => char < ' ' || char === '\u007f')
  return !hasControl && id[0] !== ' ' && id.at(-1) !== ' '
}

/** [spec] "Streams must be decoded using the UTF-8 decode algorithm", which takes one BOM off. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: false }).decode(bytes)
}

/** [spec] end-of-line = ( cr lf / cr / lf ). What follows the last one is no line. */
function linesOf(text: string): string[] {
  const lines: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== '\r' && text[at] !== '\n') continue
    lines.push(text.slice(start, at))
    if (text[at] === '\r' && text[at + 1] === '\n') at++
    start = at + 1
  }
  return lines
}

/** [spec] "If value starts with a U+0020 SPACE character, remove it from value." */
function withoutSpace(value: string): string {
  return value[0] === ' ' ? value.slice(1) : value
}
