import type { Message, RequestId } from './messages.ts'

/** Calls whose stream was given back to the SDK, which alone can get fresh credentials. */
export interface HandedOver {
  /** What still wants an answer. */
  requests: { id: RequestId; method: string }[]
  /** How often the SDK's own resume was answered 401 or 403. */
  refusals: number
}

/** More are waiting only when nobody comes for them. */
const MAX_WAITING = 1_000

/** Streams that the SDK resumes itself, found again by the cursor that it was given. */
export class Handovers {
  readonly #waiting = new Map<string, HandedOver>()

  /** No `requests`: nothing is left at this cursor, and the SDK that comes with it is told so. */
  give(session: string | null, cursor: string, requests: HandedOver['requests']): void {
    const oldest = this.#waiting.keys().next()
    if (this.#waiting.size >= MAX_WAITING && !oldest.done) this.#waiting.delete(oldest.value)
    this.#waiting.set(keyOf(session, cursor), { requests, refusals: 0 })
  }

  at(session: string | null, cursor: string): HandedOver | undefined {
    return this.#waiting.get(keyOf(session, cursor))
  }

  take(session: string | null, cursor: string): void {
    this.#waiting.delete(keyOf(session, cursor))
  }

  /** Calls that the SDK no longer waits for need not be resumed. */
  heed(session: string | null, messages: readonly Message[]): void {
    for (const { method, params } of messages) {
      if (method !== 'notifications/cancelled') continue
      for (const [key, handed] of this.#waiting) {
        if (!key.startsWith(keyOf(session, ''))) continue
        handed.requests = handed.requests.filter(({ id }) => id !== params?.requestId)
      }
    }
  }
}

function keyOf(session: string | null, cursor: string): string {
  return `${session ?? ''}\n${cursor}`
}
