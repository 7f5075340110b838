import type { Message, RequestId } from './messages.ts'

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

  /** Calls that are under way. */
  get size(): number {
    return this.#streams.size
  }

  add(session: string | null, ids: Iterable<RequestId>, stream: Cancellable): void {
    for (const id of ids) this.#streams.set(keyOf(session, id), stream)
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
      this.#streams.get(keyOf(session, id))?.cancelled(id)
    }
  }
}

function keyOf(session: string | null, id: RequestId): string {
  return `${session ?? ''} ${JSON.stringify(id)}`
}
