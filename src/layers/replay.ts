interface Identified {
  readonly id?: string | undefined
  readonly data: string
}

/** An event as it is remembered: its id, and enough of its data to recognise it. */
interface Print {
  id: string
  data: string
}

/** How many events at each end of a connection are remembered with their data. */
const WINDOW = 32
/** Characters of data that the events at the end of a connection may hold together. */
const END_CHARS = 65_536
/** Data is kept up to here; of longer data the length and both ends. */
const WHOLE_DATA_CHARS = 512

/** A copy, because a slice would keep the whole chunk alive. */
function printOf(id: string, data: string): Print {
  const parts =
    data.length <= WHOLE_DATA_CHARS
      ? [data, '']
      : [String(data.length), data.slice(0, WHOLE_DATA_CHARS / 2), data.slice(-WHOLE_DATA_CHARS / 2)]
  return { id: [id, ''].join('\n'), data: parts.join('\n') }
}

/** An empty event only tells an id, which may be any: that of the cursor, say, each time. It proves nothing. */
const isGreeting = ({ data }: Identified) => data === ''

/**
 * Recognises two servers that ids alone cannot: one that replays everything (its connection starts with the stream's
 * very first event), and one that numbers anew (a known id comes back with other data; common frameworks number each
 * response from 1).
 */
export class ReplayDetector {
  /** The first events of the stream. */
  readonly #streamStart: Print[] = []
  #connectionStart: Print[] = []
  /** The last events themselves: prints are made when the connection is lost, not for each read. */
  #connectionEnd: Identified[] = []
  /** Id to data, from the last connection and the stream's start; `undefined` data where an id stood for two. */
  #known = new Map<string, string | undefined>()
  /** The id of the last event that was delivered with one: there a full replay ends. */
  #last = ''
  #replay: 'possible' | 'suspected' | 'running' | 'no' = 'no'
  /** How much of the stream's start a replay has brought, in its order. */
  #matched = 0
  #delivered = 0
  #dropped = 0

  connected(): void {
    this.#known = new Map()
    for (const { id, data } of [...this.#streamStart, ...this.#connectionStart, ...this.#endPrints()]) {
      const ambiguous = this.#known.has(id) && this.#known.get(id) !== data
      this.#known.set(id, ambiguous ? undefined : data)
    }
    this.#connectionStart = []
    this.#connectionEnd = []
    this.#replay = (this.#streamStart[0]?.id ?? this.#last) === this.#last ? 'no' : 'possible'
    this.#matched = 0
    this.#dropped = 0
  }

  /** Whether a replay may be about to begin, or is under way: then every event has to be judged. */
  get expects(): boolean {
    return this.#replay !== 'no'
  }

  /** It has brought something new: what follows is no replay. */
  interrupt(): void {
    this.#replay = 'no'
  }
  /** The ids that are known with their data. */
  ids(): string[] {
    return [...this.#known.keys()].map(key => key.slice(0, -1))
  }

  /** Judges the next event with an id on a later connection. */
  judge(event: Identified, id: string): 'unknown' | 'reused' | 'full-replay' | 'replayed' {
    if (isGreeting(event)) return 'unknown'
    const key = `${id}\n`
    const known = this.#known.get(key)
    const same = known !== undefined && printOf(id, event.data).data === known
    if (known !== undefined && !same) {
      this.#replay = 'no'
      this.#known.clear()
      // The stream starts here, as far as ids mean anything.
      this.#streamStart.length = 0
      return 'reused'
    }
    if (this.#replay === 'possible') {
      this.#replay = same && this.#streamStart[0]?.id === key ? 'suspected' : 'no'
      if (this.#replay === 'no') return 'unknown'
      this.#matched = 1
      this.#dropped = 1
      return 'replayed'
    }
    if (this.#replay === 'no') return 'unknown'
    // A greeting that opens every connection looks like the stream's first event; the ones after it tell it apart.
    // And a log that lost its end never brings the last event: it cannot replay more than was delivered.
    const next = this.#streamStart[this.#matched]
    if ((next !== undefined && next.id !== key) || ++this.#dropped > this.#delivered) {
      this.#replay = 'no'
      return 'unknown'
    }
    this.#matched++
    const verdict = this.#replay === 'suspected' ? 'full-replay' : 'replayed'
    this.#replay = key === this.#last ? 'no' : 'running'
    return verdict
  }

  /** These events were delivered. */
  remember(events: readonly Identified[]): void {
    this.#delivered += events.length
    this.#keepEnd(events)
    const last = events.findLast(event => event.id && !isGreeting(event))?.id
    if (last !== undefined) this.#last = [last, ''].join('\n')
    for (const event of events) {
      if (this.#connectionStart.length >= WINDOW) return
      if (!event.id || isGreeting(event)) continue
      const print = printOf(event.id, event.data)
      this.#connectionStart.push(print)
      if (this.#streamStart.length < WINDOW) this.#streamStart.push(print)
    }
  }
  /** The last events, as few as {@link END_CHARS} and {@link WINDOW} allow: each keeps the chunk alive that it came in. */
  #keepEnd(events: readonly Identified[]): void {
    const latest = events.length < WINDOW ? [...this.#connectionEnd, ...events] : events
    let chars = 0
    let count = 0
    for (; count < Math.min(WINDOW, latest.length); count++) {
      chars += (latest.at(-1 - count) as Identified).data.length
      if (chars > END_CHARS && count > 0) break
    }
    this.#connectionEnd = latest.slice(latest.length - count)
  }

  #endPrints(): Print[] {
    const events = this.#connectionEnd.filter(event => event.id && !isGreeting(event))
    return events.map(({ id = '', data }) => printOf(id, data))
  }
}
