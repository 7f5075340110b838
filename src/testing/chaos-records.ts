import type { ChaosFaultName, DealtFault } from './chaos-faults.js'
import type { Meter } from './chaos-flow.js'

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

/** One connection that a client made. Times are `performance.now()` in milliseconds. */
export interface ChaosConnection {
  /** 0 for the first connection. */
  readonly index: number
  readonly acceptedAt: number
  /** The port that the client dialled from. */
  readonly clientPort: number | undefined
  /** What the schedule has dealt to it; `undefined`: nothing. */
  readonly dealt: DealtFault | undefined
  /** Bytes of the client that were passed on. */
  readonly bytesUp: number
  /** Bytes of the target that were passed on. */
  readonly bytesDown: number
  /** When it was over; undefined while it is open. */
  readonly closedAt: number | undefined
}

/** The record while it is being written. It holds no socket: it is kept long after the connection. */
export class ConnectionRecord implements ChaosConnection {
  readonly acceptedAt = performance.now()
  closedAt: number | undefined = undefined
  readonly up: Meter = { passed: 0 }
  readonly down: Meter = { passed: 0 }

  constructor(
    readonly index: number,
    readonly clientPort: number | undefined,
    readonly dealt: DealtFault | undefined,
  ) {}

  get bytesUp(): number {
    return this.up.passed
  }

  get bytesDown(): number {
    return this.down.passed
  }

  /** A plain object: the getters would be lost in JSON. */
  toJSON(): ChaosConnection {
    const { index, acceptedAt, clientPort, dealt, bytesUp, bytesDown, closedAt } = this
    return { index, acceptedAt, clientPort, dealt, bytesUp, bytesDown, closedAt }
  }
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
