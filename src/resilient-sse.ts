import { Client } from './client.ts'
import type { SseEvent } from './event.ts'
import { type JsonEvent, jsonEvents, type StandardSchema } from './json.ts'
import type { StreamState } from './lifecycle.ts'
import { type ResilientSseOptions, resolveOptions, type UrlOption } from './options.ts'
import type { SseStats } from './stats.ts'

/**
 * A Server-Sent Events stream that survives its connections: an async iterator over events, for one consumer.
 *
 * Nothing is dialled before the first pull. `break`, `return()`, {@link close}, `await using` and the `signal` option
 * end it and free the socket at once. The loop throws an `SseError` when the stream cannot go on; docs/errors.md lists
 * the codes. The flow itself is in client.ts.
 */
export class ResilientSse implements AsyncIterable<SseEvent, undefined>, AsyncDisposable {
  readonly #client: Client

  /**
   * @param url An absolute http(s) URL, or a function that gives one before each dial (signed URLs).
   * @param options See {@link ResilientSseOptions}; every layer is on by default.
   * @throws SseError `ERR_SSE_OPTION`, naming the option, the value and what is allowed.
   */
  constructor(url: UrlOption, options?: ResilientSseOptions) {
    this.#client = new Client(resolveOptions(url, options), this)
  }

  /** Where the stream is now. */
  get state(): StreamState {
    return this.#client.state
  }

  /** The id of the last event handed out, inherited ones included; `''` when the server emptied it. */
  get lastEventId(): string | undefined {
    return this.#client.delivery.lastEventId
  }

  /** Counters per layer, as of now. */
  stats(): SseStats {
    return this.#client.stats()
  }

  /** @throws SseError `ERR_SSE_LOCKED` when there is a consumer, `ERR_SSE_CLOSED` when the stream is over. */
  [Symbol.asyncIterator](): AsyncIterableIterator<SseEvent, undefined> {
    return this.#client.delivery.events()
  }

  /** The same stream as arrays, one per network read and never empty: less work per event for a firehose. */
  batches(): AsyncIterableIterator<SseEvent[], undefined> {
    return this.#client.delivery.batches()
  }

  /**
   * The same stream with `data` parsed as JSON and, with a Standard Schema (zod, valibot, …), checked by it.
   * @throws SseError `ERR_SSE_JSON` from the loop, naming the id, at the first event that does not fit.
   */
  json<Output = unknown>(
    schema?: StandardSchema<Output>,
  ): AsyncIterableIterator<JsonEvent<Output>, undefined> {
    const { delivery } = this.#client
    return jsonEvents(
      delivery.events(),
      schema,
      (parsed, event) => delivery.standsFor(parsed, event),
      error => this.#client.fail(error),
    )
  }

  /**
   * With `resume: { ack: 'manual' }`: this event is handled; the stored cursor moves once all before it are, too.
   * @throws SseError `ERR_SSE_OPTION` for an event that this stream did not hand out.
   */
  ack(event: SseEvent | JsonEvent<unknown>): void {
    this.#client.delivery.ack(event)
  }

  /**
   * Gives up the connection, or the wait for one, and dials at once; for applications that know better than the layers.
   * @throws SseError `ERR_SSE_NOT_RESENT` when the request is not idempotent and `body` is not a function.
   */
  reconnect(): void {
    this.#client.reconnect()
  }

  /**
   * Ends the stream: the socket at once, then the last save. A pending `next()` is answered with `done`.
   * @throws SseError `ERR_SSE_STORE` when the last handled id could not be saved.
   */
  close(): Promise<void> {
    return this.#client.end('closed', undefined)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
