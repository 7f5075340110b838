/** Layer 5: the bounded set of ids already delivered. */
export interface DedupeOptions {
  /**
   * How many ids are remembered, least recently seen out first. 1 to 10,000,000. Default 10,000: an hour of three
   * events a second, in about 1 MB. Until a replay has passed the cursor, twice as many may be held.
   */
  capacity?: number | undefined
  /**
   * What makes two events the same. `'id'` (default): their own id fields. `'id+data'`: the data too, for servers whose
   * ids are not unique; it hashes all data.
   */
  by?: 'id' | 'id+data' | undefined
}

export type ResolvedDedupe = { [Name in keyof DedupeOptions]-?: Exclude<DedupeOptions[Name], undefined> }

export const DEDUPE_DEFAULTS = { capacity: 10_000, by: 'id' } as const satisfies ResolvedDedupe

/** What this layer looks at. An inherited id is no key: it would swallow the events after it. */
interface Identified {
  readonly id?: string | undefined
  readonly data: string
}

/**
 * The ids that were delivered. A duplicate is an event whose id was delivered on an *earlier* connection: so the first
 * one costs an array store per event, and an index is built for the second (a live `Map` costs 150 to 250 ns an event).
 */
export class Dedupe {
  readonly #capacity: number
  readonly #byData: boolean
  /** Keys of this connection, joined per read: ids are slices of their chunk, and 2,000 of them kept 600 MB alive. */
  #reads: { keys: string; count: number }[] = []
  #count = 0
  /** Keys of earlier connections, oldest first; what was seen again or evicted is no longer in the index. */
  #order: string[] = []
  #evicted = 0
  #index: Set<string> | undefined
  #mayEvict = false

  constructor(options: ResolvedDedupe) {
    this.#capacity = options.capacity
    this.#byData = options.by === 'id+data'
  }

  get armed(): boolean {
    return this.#index !== undefined
  }
  /** The ids that would make an event a duplicate. */
  ids(): string[] {
    return this.#byData ? this.#order.map(key => key.slice(0, key.lastIndexOf(' '))) : this.#order
  }
  get size(): number {
    return this.#count + (this.#index?.size ?? 0)
  }

  /** An id that was handled before this process began. */
  seed(id: string): void {
    if (id !== '' && !this.#byData) this.#order = [id]
  }

  /** A new connection: what was delivered on the last one joins what can come back. */
  connected(): void {
    const keys = new Set(this.#order)
    const seen = new Set<string>()
    const repeated = new Set<string>()
    for (const { keys: text, count } of this.#reads) {
      for (const key of text.split('\n', count)) (seen.has(key) ? repeated : seen).add(key)
    }
    for (const key of seen) {
      keys.delete(key)
      // An id that repeats within a connection does not identify an event.
      if (!repeated.has(key)) keys.add(key)
    }
    this.#order = [...keys].slice(-this.#capacity)
    this.#evicted = 0
    this.#index = this.#order.length > 0 ? new Set(this.#order) : undefined
    this.#mayEvict = false
    this.#reads = []
    this.#count = 0
  }

  /**
   * Whether the event was delivered on an earlier connection. Asking takes its key out of the index: the same id a
   * second time on this connection is a repeat within it, and passes.
   */
  isDuplicate(event: Identified, id: string): boolean {
    const key = this.#keyOf(event, id)
    const known = this.#index?.delete(key) ?? false
    if (known) this.#append([key])
    return known
  }

  /** Only now may keys of earlier connections be evicted: a replay one longer than a textbook LRU evicts each in time. */
  passedCursor(): void {
    this.#mayEvict = true
  }

  /** The server numbers anew: the ids mean nothing now. */
  forget(): void {
    this.#index = undefined
    this.#order = []
    this.#reads = []
    this.#count = 0
  }

  /** Returns how many of the events had an id. */
  remember(events: readonly Identified[]): number {
    const keys: string[] = []
    for (const event of events) if (event.id) keys.push(this.#keyOf(event, event.id))
    if (keys.length > 0) this.#append(keys.slice(-this.#capacity))
    if (this.#index !== undefined && this.#mayEvict) this.#evict(this.#index)
    return keys.length
  }

  #append(keys: string[]): void {
    // The empty element makes a new text even of one key, where join() would return the slice itself.
    const count = keys.push('') - 1
    this.#reads.push({ keys: keys.join('\n'), count })
    this.#count += count
    if (this.#count < 2 * this.#capacity) return // In bulk: shifting an array by one costs as much as by many.
    let surplus = 0
    const oldest = () => (this.#reads[surplus] as { count: number }).count
    for (; this.#count - oldest() >= this.#capacity; surplus++) this.#count -= oldest()
    this.#reads.splice(0, surplus)
  }

  #evict(index: Set<string>): void {
    while (index.size + this.#count > this.#capacity && this.#evicted < this.#order.length) {
      index.delete(this.#order[this.#evicted++] as string)
    }
    if (index.size === 0) this.#index = undefined
  }

  #keyOf(event: Identified, id: string): string {
    return this.#byData ? `${id} ${hash(event.data)}` : id
  }
}

/** Length and 64 bits in two lanes, multiply and xor as FNV does: not for secrets, enough to tell two events apart. */
function hash(text: string): string {
  let high = 0x9e3779b9
  let low = 0x85ebca6b
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 0x01000193)
    low = Math.imul(low ^ code, 0x5bd1e995) ^ (low >>> 15)
  }
  return `${text.length}-${(high >>> 0).toString(36)}-${(low >>> 0).toString(36)}`
}
