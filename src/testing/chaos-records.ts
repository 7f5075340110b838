import type { ChaosFaultName } from './chaos-faults.js'

/** One thing that the relay did to a connection. */
export interface ChaosRecord {
  /** `'unreachable'`: the target could not be connected to, which is none of the relay's doing; the client gets a RST. */
  readonly fault: ChaosFaultName | 'unreachable'
  /** Index of the connection it struck; undefined for `blackhole` and `refuse` while there was none. */
  readonly connection: number | undefined
  /** When it struck, `performance.now()` in milliseconds. */
  readonly at: number
  /** Bytes of the answer, and of the client, that had been passed on by then. */
  readonly bytesDown: number
  readonly bytesUp: number
  /** `'schedule'`: it was dealt; `'order'`: by `strike()`. */
  readonly by: 'schedule' | 'order'
  /** What was chosen for it: `'200 ms, bytes dropped'`, `'ECONNREFUSED'`; undefined when there is nothing to add. */
  readonly detail: string | undefined
}

/** A list that forgets its oldest entries: a relay may run for weeks. */
export class Recent<Entry> {
  readonly entries: Entry[] = []

  constructor(readonly limit: number) {}

  add(entry: Entry): void {
    this.entries.push(entry)
    // Seldom and many at once: shift() on each would move the whole list.
    if (this.entries.length >= 2 * this.limit) this.entries.splice(0, this.limit)
  }
}
