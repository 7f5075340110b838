/** A stream of events, as far as server, client and judge must agree on it. */
export interface StreamSpec {
  events: number
  /** Bytes of an event, framing included. */
  bytes: number
  text: 'ascii' | 'utf-8'
  ids: '36 characters' | 'short'
  /** Body bytes of an HTTP chunk; `'event'`: each event is one. */
  chunk: number | 'event'
  /** Events on a first connection, which ends cleanly; they are read, and not measured. */
  before: number
}

const FILLS = {
  ascii: 'abcdefghij klmnopqrst uvwxyz 0123456789 ',
  // Two, three and four bytes a character, among ASCII, as prose has them.
  'utf-8': 'Příliš žluťoučký kůň úpěl 豆腐を食べる Ωμέγα 🚀 data ',
}

/** At how many places of the fill a text may begin. */
const STARTS = 40

/** Makes the events of one stream; each is different, and exactly `bytes` long. */
export class Stream {
  readonly spec: StreamSpec
  readonly #fill: Buffer
  readonly #fillings = new Map<number, string>()

  constructor(spec: StreamSpec) {
    this.spec = spec
    const fill = FILLS[spec.text]
    this.#fill = Buffer.from(fill.repeat(Math.ceil((2 * spec.bytes) / fill.length)))
  }

  idOf(index: number): string {
    if (this.spec.ids === 'short') return String(index)
    return `0190b1c2-5d3e-7abc-8def-${index.toString(16).padStart(12, '0')}`
  }

  dataOf(index: number): string {
    const head = `{"n":${index},"text":"`
    const room = this.spec.bytes - `id: ${this.idOf(index)}\ndata: \n\n`.length - head.length - 2
    return `${head}${this.#filling(index % STARTS, room)}"}`
  }

  text(index: number): string {
    return `id: ${this.idOf(index)}\ndata: ${this.dataOf(index)}\n\n`
  }

  /** Text of exactly so many bytes: a character that does not fit gives way to spaces. */
  #filling(start: number, bytes: number): string {
    const key = bytes * STARTS + start
    const known = this.#fillings.get(key)
    if (known !== undefined) return known
    let from = start
    // The middle of a character is no place to begin.
    while (((this.#fill[from] as number) & 0xc0) === 0x80) from++
    const whole = new TextDecoder().decode(this.#fill.subarray(from, from + bytes), { stream: true })
    const filling = whole.padEnd(whole.length + bytes - Buffer.byteLength(whole))
    this.#fillings.set(key, filling)
    return filling
  }
}

/** Every event leaves its mark: its lengths and one of its characters; one in a thousand with many of them. */
export class Checksum {
  count = 0
  sum = 0

  add(data: string, id: string | undefined): void {
    const { length } = data
    let mark = length + data.charCodeAt((this.count * 7_919) % length)
    if (id !== undefined) mark += id.length * 3 + id.charCodeAt(id.length - 1)
    if (this.count % 1_000 === 0) {
      const step = Math.max(1, Math.floor(length / 128))
      for (let at = 0; at < length; at += step) mark = (Math.imul(mark, 31) + data.charCodeAt(at)) | 0
    }
    this.sum = (Math.imul(this.sum, 31) + mark) | 0
    this.count++
  }
}

export function checksumOf(spec: StreamSpec): number {
  const stream = new Stream(spec)
  const checksum = new Checksum()
  for (let index = 0; index < spec.events; index++) checksum.add(stream.dataOf(index), stream.idOf(index))
  return checksum.sum
}
