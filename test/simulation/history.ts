import type { LifecycleEvent } from '../../src/lifecycle.ts'
import type { Entry } from './log.ts'
import type { Leg } from './schedule.ts'

/** Everything that the oracle may look at: the server's log and the consumer's, on one count of moments. */
export interface History {
  lives: Life[]
  /** Requests, redirected ones included. */
  requests: Request[]
  saves: Save[]
  /** What broke a law the moment it happened. */
  violations: Violation[]
  endedAt: number
  /** Why the run ended: the last event came, time was up, or nothing was left that could happen. */
  outcome: 'over' | 'late' | 'idle'
}

export interface Violation {
  law: string
  text: string
}

/** A point in the history: when, and which of those that share a millisecond came first. */
export interface Moment {
  at: number
  seq: number
}

/** One stream, from its construction to its end. */
export interface Life {
  nr: number
  began: Moment
  /** What its store gave it; `undefined` when there was nothing, or no store. */
  stored: string | undefined
  deliveries: Delivery[]
  told: (Moment & { event: LifecycleEvent })[]
  /** Calls of reconnect(). */
  reconnects: Moment[]
  /** How the consumer's loop ended: by its own will, by `done`, or by an error. */
  end: (Moment & { how: LifeEnd; error: unknown }) | undefined
}

export type LifeEnd = 'break' | 'throw' | 'crash' | 'abort' | 'close' | 'done' | 'error' | 'finished'

export interface Delivery extends Moment {
  data: string
  id: string | undefined
  type: string | undefined
  /** When the consumer said that it was done with it. */
  handled: Moment | undefined
}

export interface Save extends Moment {
  life: number
  id: string
}

/** One request, as the server saw it. */
export interface Request extends Moment {
  nr: number
  life: number
  /** Not the first request of its dial. */
  redirected: boolean
  /** Last-Event-ID, decoded. */
  asked: string | undefined
  leg: Leg
  answered: Moment | undefined
  /** The response's stream, if it was one. */
  stream: Sent | undefined
  /** How it ended: by the server, or because the client gave it up. */
  ended: (Moment & { by: 'answer' | 'refusal' | 'end' | 'reset' | 'client' }) | undefined
}

/** What one response carried. */
export interface Sent {
  /** The place in the log that the id asked for stands for; -1 without one. */
  cursor: number
  /** Where the response began. */
  start: number
  blocks: Block[]
  /** Bytes that the client's reads were given. */
  handed: number
  /** Each of these reads: its bytes, and when. */
  reads: (Moment & { bytes: number })[]
  /** Whether the client was told the end. */
  endRead: boolean
  /** `retry:` values, with the bytes that come before them. */
  retries: { value: string; end: number }[]
}

/** One block with an id or data. */
export interface Block {
  /** `undefined`: a greeting, which stands in no log. */
  entry: Entry | undefined
  id: string | undefined
  data: string | undefined
  /** Bytes of the response up to its end. */
  end: number
}
