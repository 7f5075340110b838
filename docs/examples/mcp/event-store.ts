// A correct event store for one session: what was sent on each of its streams, so that a client which comes back with
// Last-Event-ID is sent the rest.
import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

interface Stored {
  id: string
  message: JSONRPCMessage
}

/** Streams of one session that are kept; each call has one. */
const MAX_STREAMS = 1_000

export class MemoryEventStore implements EventStore {
  /** By stream, oldest first. */
  readonly #streams = new Map<string, Stored[]>()
  readonly #maxEvents: number
  #count = 0

  /** `maxEvents`: how many a stream keeps. A cursor that is older than all of them is unknown. */
  constructor(maxEvents: number) {
    this.#maxEvents = maxEvents
  }

  /** A counter keeps the order within a millisecond, and makes ids unique in the session. */
  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = `${streamId}:${++this.#count}`
    this.restore(streamId, id, message)
    return id
  }

  /** What was stored before, under the id that it had. */
  restore(streamId: string, id: string, message: JSONRPCMessage): void {
    const events = this.#streams.get(streamId) ?? []
    events.push({ id, message })
    if (events.length > this.#maxEvents) events.shift()
    this.#streams.set(streamId, events)
    const [oldest] = this.#streams.keys()
    if (this.#streams.size > MAX_STREAMS && oldest !== undefined) this.#streams.delete(oldest)
    this.#count = Math.max(this.#count, Number(id.slice(id.lastIndexOf(':') + 1)))
  }

  /** `undefined` makes the SDK answer 400: what follows an unknown id cannot be told. */
  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    const streamId = id.slice(0, id.lastIndexOf(':'))
    return this.#streams.get(streamId)?.some(event => event.id === id) ? streamId : undefined
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const streamId = await this.getStreamIdForEventId(lastEventId)
    if (streamId === undefined) throw new Error(`No event has the id ${lastEventId}`)
    const events = this.#streams.get(streamId) ?? []
    const after = events.slice(events.findIndex(({ id }) => id === lastEventId) + 1)
    // A priming event is stored as an empty message. It was for the connection that it opened.
    for (const { id, message } of after) if (Object.keys(message).length > 0) await send(id, message)
    return streamId
  }
}
