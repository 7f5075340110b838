import type { SseError } from './errors.ts'

/** What a connection brought; it decides whether its end counts as a failure. */
export type Progress = 'news' | 'data' | 'nothing'

/** A dial that failed, or a connection that ended. An Error, because p-retry hands on nothing else. */
export class Failure extends Error {
  readonly error: SseError
  /** Whether there was a connection. */
  readonly opened: boolean
  readonly progress: Progress
  /** Events that the connection brought. */
  readonly events: number
  /** How long the connection lived, or the dial took. */
  readonly tookMs: number
  /** Whether the request may have reached the server. */
  readonly written: boolean

  constructor(
    error: SseError,
    facts: { opened: boolean; progress: Progress; events: number; tookMs: number; written: boolean },
  ) {
    super(error.message)
    this.error = error
    this.opened = facts.opened
    this.progress = facts.progress
    this.events = facts.events
    this.tookMs = facts.tookMs
    this.written = facts.written
  }
}
