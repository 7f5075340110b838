import type { EventLog } from './log.js'
import type { FaultRecord, Recorder } from './records.js'
import type { LineEnding } from './steps.js'

/** What a client is given whose `Last-Event-ID` the server does not know. */
export type OnUnknownId = 'start' | 'end' | 'oldest'

/** What all connections of one server share: the log, what of it was sent, and what has struck. */
export class Ledger {
  readonly faults: FaultRecord[] = []
  readonly #sent = new Set<number>()
  #highest = -1
  #restartedAt: number | undefined

  constructor(
    readonly log: EventLog,
    readonly onUnknownId: OnUnknownId,
  ) {}

  /** The event as it is sent today; after a restart, or on a response of its own numbering, the ids count from 1. */
  encode(index: number, lineEnding: LineEnding, numberedFrom = this.#restartedAt): Buffer {
    if (numberedFrom === undefined) return this.log.encode(index, lineEnding)
    return this.log.encode(index, lineEnding, String(index - numberedFrom + 1))
  }

  /** The index of the event that follows `lastEventId`. */
  after(lastEventId: string | undefined): number {
    if (lastEventId === undefined || lastEventId === '') return this.log.oldest
    const index = this.#find(lastEventId)
    if (index !== -1) return Math.max(index + 1, this.log.oldest)
    return this.onUnknownId === 'end' ? this.log.length : this.log.oldest
  }

  /** Events up to this index may have reached a client, completely or not. */
  offered(index: number): void {
    this.#highest = Math.max(this.#highest, index)
  }

  wrote(index: number, request: Recorder): void {
    request.wrote(index)
    this.#sent.add(index)
  }

  struck(request: Recorder, kind: string, detail: string | undefined, position: number): void {
    this.faults.push({ request: request.index, kind, detail, at: performance.now(), position })
  }

  restart(position: number): void {
    this.log.forget(position)
    this.#restartedAt = position
  }

  sent(): number[] {
    return [...this.#sent].sort((a, b) => a - b)
  }

  #find(id: string): number {
    if (this.#restartedAt !== undefined) {
      const index = this.#restartedAt + Number(id) - 1
      return /^\d+$/.test(id) && index >= this.#restartedAt && index < this.log.length ? index : -1
    }
    let index = this.log.indexOfId(id)
    // Of several events with this id the client can only mean one that was sent.
    while (index > this.#highest && index > 0 && this.log.idAt(index - 1) === id) index--
    return index
  }
}
