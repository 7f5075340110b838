import type { Message, RequestId } from './messages.ts'

/** How many calls that are over are remembered, for answers that come a second time. */
const MAX_OVER = 1_000

/** A stream that answers calls, as far as cancelling them goes. */
export interface Cancellable {
  /** Nobody waits for the answer to `id` any more. */
  cancelled(id: RequestId): void
}

/**
 * Which stream answers which call. It belongs to one wrapper, and its keys to one session: ids 0, 1, 2 … repeat between
 * clients. `1` and `'1'` are two ids.
 */
export class CallRegister {
  readonly #streams = new Map<string, Cancellable>()
  /** Calls that nobody waits for any more, oldest first. */
  readonly #over = new Set<string>()

  /** Calls that are under way. */
  get size(): number {
    return this.#streams.size
  }

  add(session: string | null, ids: Iterable<RequestId>, stream: Cancellable): void {
    for (const id of ids) {
      this.#streams.set(keyOf(session, id), stream)
      this.#over.delete(keyOf(session, id))
    }
  }

  /** `stream` has told the answers to these calls. */
  over(session: string | null, ids: readonly RequestId[], stream: Cancellable): void {
    for (const id of ids) if (this.#streams.get(keyOf(session, id)) === stream) this.#end(session, id)
  }

  /**
   * Answers have come on another stream than that of their calls: some servers replay on one what belongs to all. So they
   * may have been told before, or their own stream need not wait any longer. Returns whether anybody can still want them.
   */
  answered(session: string | null, ids: readonly RequestId[]): boolean {
    const wanted = ids.filter(id => !this.#over.has(keyOf(session, id)))
    for (const id of wanted) this.#end(session, id)?.cancelled(id)
    return wanted.length > 0
  }

  /** Progress of a call that is over: the SDK, which no longer knows it, would tell its host of an error. */
  isLate(session: string | null, progressToken: RequestId | undefined): boolean {
    return progressToken !== undefined && this.#over.has(keyOf(session, progressToken))
  }

  remove(session: string | null, ids: Iterable<RequestId>, stream: Cancellable): void {
    for (const id of ids) {
      const key = keyOf(session, id)
      if (this.#streams.get(key) === stream) this.#streams.delete(key)
    }
  }

  /** The SDK sends `notifications/cancelled`: what it no longer waits for is not asked for again. */
  heed(session: string | null, messages: readonly Message[]): void {
    for (const { method, params } of messages) {
      if (method !== 'notifications/cancelled') continue
      const id = params?.requestId as RequestId
      this.#end(session, id)?.cancelled(id)
    }
  }

  /** Nobody waits for the answer to this call any more. Returns the stream that did. */
  #end(session: string | null, id: RequestId): Cancellable | undefined {
    const key = keyOf(session, id)
    const stream = this.#streams.get(key)
    if (stream === undefined) return undefined
    const [oldest] = this.#over
    if (this.#over.size >= MAX_OVER && oldest !== undefined) this.#over.delete(oldest)
    this.#over.add(key)
    return stream
  }
}

function keyOf(session: string | null, id: RequestId): string {
  return `${session ?? ''} ${JSON.stringify(id)}`
}
