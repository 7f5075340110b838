import { type SseError, SseHttpError } from '../index.ts'

/** What an `error` event carries beyond the standard's, whose error events say nothing. */
export class EventSourceErrorEvent extends Event {
  /** The typed error; `undefined` when the server said with 204 that the stream is over. */
  readonly error: SseError | undefined
  /** The HTTP status that the server answered with, when that was the trouble. */
  readonly status: number | undefined
  /** The error in words, without header values and query strings. */
  readonly message: string

  constructor(error: SseError | undefined) {
    super('error')
    this.error = error
    this.status = error === undefined ? 204 : error instanceof SseHttpError ? error.status : undefined
    // What a user's own function threw may be anything.
    this.message = String(
      error === undefined ? 'The server answered 204: the stream is over' : (error.message ?? error),
    )
  }

  /** {@link status}, under the name that the package eventsource has for it. */
  get code(): number | undefined {
    return this.status
  }
}
