// A correct event store for one session: what was sent on each of its streams, so that a client which comes back with
// Last-Event-ID is sent the rest. It fits the servers of both SDK lines.
import { randomBytes } from 'node:crypto'
import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js'

export interface Limits {
  /** How many events a stream keeps. A cursor that is older than all of them is unknown. */
  events: number
  /** How many streams are kept; each call has one. */
  streams: number
  /** Of all messages together, as JSON: a thousand large results are no small store. */
  characters: number
}

export const LIMITS: Limits = { events: 100, streams: 1_000, characters: 16_000_000 }

export interface Stored {
  id: string
  streamId: string
  /** The message as it was sent, whatever becomes of the object. */
  json: string
  /** It answers a request. */
  answer: boolean
  /** The requests that its stream still had to answer then; for a store that outlives those who work on them. */
  open?: RequestId[]
  /** The one that follows on its stream. A replay walks along these, so what is evicted meanwhile makes no hole in it. */
  next?: Stored
}

interface Stream {
  first: Stored
  last: Stored
  count: number
  /** It holds an answer, so most probably nothing follows. */
  answered: boolean
}

export class MemoryEventStore implements EventStore {
  /** Ids of two processes never meet, whatever the first of them could not keep. */
  readonly #epoch = randomBytes(4).toString('hex')
  #count = 0
  readonly #limits: Limits
  readonly #events = new Map<string, Stored>()
  /** The one that was written to least recently comes first. */
  readonly #streams = new Map<string, Stream>()
  #characters = 0

  constructor(limits: Partial<Limits> = {}) {
    this.#limits = { ...LIMITS, ...limits }
  }

  /** A counter keeps the order within a millisecond. Calls settle in their order, as the SDK sends what they return. */
  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = `${this.#epoch}-${++this.#count}`
    this.keep(eventOf(id, streamId, message))
    return id
  }

  /** `undefined` makes the SDK answer 400: what follows an unknown id cannot be told. */
  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.get(id)?.streamId
  }

  /** What is stored while it goes on is a part of it: the SDK sends nothing else to this connection until it is over. */
  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const cursor = this.#events.get(lastEventId)
    if (cursor === undefined) throw new Error(`No event has the id ${lastEventId}`)
    for (let event = cursor.next; event !== undefined; event = event.next) {
      // A priming event is stored as an empty message. It was for the connection that it opened.
      if (event.json !== '{}') await send(event.id, JSON.parse(event.json))
    }
    return cursor.streamId
  }

  protected keep(event: Stored): void {
    const { id, streamId, json, answer } = event
    const stream = this.#streams.get(streamId) ?? { first: event, last: event, count: 0, answered: false }
    if (stream.last !== event) stream.last.next = event
    stream.last = event
    stream.count++
    stream.answered ||= answer
    this.#streams.delete(streamId)
    this.#streams.set(streamId, stream)
    this.#events.set(id, event)
    this.#characters += json.length
    if (stream.count > this.#limits.events) this.#evictFrom(streamId, stream)
    while (this.#isFull()) this.#evictFrom(...this.#leastWanted())
  }

  protected lastOf(streamId: string): Stored | undefined {
    return this.#streams.get(streamId)?.last
  }

  /** Everything that may still be asked for; each stream in its order. */
  protected *kept(): Iterable<Stored> {
    for (const { first } of this.#streams.values())
      for (let event: Stored | undefined = first; event !== undefined; event = event.next) yield event
  }

  #isFull(): boolean {
    const { streams, characters } = this.#limits
    const crowded = this.#streams.size > streams || this.#characters > characters
    return crowded && this.#events.size > 1
  }

  /** A stream that has its answer goes before a call that is still open, however long that one has been silent. */
  #leastWanted(): [string, Stream] {
    const streams = [...this.#streams]
    const answered = streams.slice(0, -1).find(([, stream]) => stream.answered)
    return answered ?? (streams[0] as [string, Stream])
  }

  #evictFrom(streamId: string, stream: Stream): void {
    const { id, json, next } = stream.first
    this.#events.delete(id)
    this.#characters -= json.length
    stream.count--
    if (next === undefined) this.#streams.delete(streamId)
    else stream.first = next
  }
}

/** Of all messages only answers have an id and no method. */
export function eventOf(id: string, streamId: string, message: JSONRPCMessage): Stored {
  const answer = 'id' in message && !('method' in message)
  return { id, streamId, json: JSON.stringify(message), answer }
}
