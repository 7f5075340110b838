import { SseError } from '../../../index.ts'
import type { Message, RequestId } from '../messages.ts'
import type { McpSettings } from '../options.ts'
import { type LostReason, lostAnswers } from '../settle.ts'
import type { Outgoing } from './outgoing.ts'
import type { Sessions } from './sessions.ts'
import { triedAgain } from './tries.ts'
import { type Undeliverable, Undelivered } from './undelivered.ts'

/** What a call is told whose request was not delivered. */
const REASONS: Record<Undeliverable, LostReason> = {
  'session-lost': 'session-lost',
  'not-sent': 'unreachable',
  'no-answer': 'no-answer',
}

/** The host's messages on their way: a session that has lost them gives way to the next, and what may have run is not sent again. */
export class Deliveries {
  readonly #url: URL
  readonly #settings: McpSettings
  readonly #sessions: Sessions
  /** What the server has not taken yet. */
  readonly #outgoing = new Set<Outgoing>()

  constructor(url: URL, settings: McpSettings, sessions: Sessions) {
    this.#url = url
    this.#settings = settings
    this.#sessions = sessions
  }

  /** Resolves when the server has taken the message, when nobody waits any more, and when a call was answered with -32000. */
  async deliver(outgoing: Outgoing): Promise<void> {
    this.#outgoing.add(outgoing)
    try {
      await this.#attempt(outgoing).catch(error => {
        if (!isNotSent(error)) throw error
        return this.#triedAgain(outgoing, error)
      })
    } catch (error) {
      this.#failed(outgoing, error)
    } finally {
      this.#outgoing.delete(outgoing)
    }
  }

  /** What waits is sent no more, and its senders are told. */
  close(): void {
    for (const outgoing of this.#outgoing) outgoing.abandon(closed())
  }

  /** A `notifications/cancelled`. Returns whether the server has to be told of it. */
  cancel({ params }: Message): boolean {
    const id = params?.requestId as RequestId
    for (const outgoing of this.#outgoing) outgoing.cancel(id)
    return this.#sessions.forget(id)
  }

  async #attempt(outgoing: Outgoing): Promise<void> {
    for (let refusals = 0; ; refusals++) {
      const session = await unlessAborted(outgoing.signal, this.#sessions.ready())
      // It has sent its own.
      if (outgoing.isInitialized && refusals > 0) return
      const sent = outgoing.for(session)
      if (sent === undefined) return
      try {
        return await session.send(sent, outgoing.options)
      } catch (error) {
        const isRefused = error instanceof Undelivered && error.why === 'session-lost'
        // Sessions may last, and refuse this one message each time.
        if (!isRefused || refusals + 1 >= this.#settings.backoff.maxAttempts) throw error
      }
    }
  }

  async #triedAgain(outgoing: Outgoing, failure: unknown): Promise<void> {
    const requests = outgoing.requests
    const stream = {
      kind: 'request',
      ids: requests.map(({ id }) => id),
      methods: requests.map(({ method }) => method),
      sessionId: this.#sessions.latest.inner.sessionId,
    } as const
    const { signal } = outgoing
    const where = { url: this.#url, signal, settings: this.#settings, stream }
    try {
      await triedAgain(failure, () => this.#attempt(outgoing), isNotSent, where)
    } catch (error) {
      // The engine's own: how the last try failed is its cause.
      const { cause } = error as Error
      throw isNotSent(cause) ? new Undelivered('not-sent', error) : error
    }
  }

  #failed(outgoing: Outgoing, error: unknown): void {
    if (isClosed(outgoing.signal.reason)) throw outgoing.signal.reason
    if (outgoing.signal.aborted) return
    const { requests } = outgoing
    if (!(error instanceof Undelivered)) throw error
    if (requests.length === 0) throw error.cause ?? error
    const known = { reason: REASONS[error.why], attempts: 0, error: error.cause }
    const answers = lostAnswers(
      requests.map(({ id }) => id),
      known,
      error.why === 'no-answer' ? 'unknown' : 'no',
    )
    for (const answer of answers) this.#sessions.tellMessage(answer)
  }
}

export function closed(): SseError {
  return new SseError('ERR_SSE_CLOSED', 'The transport is closed')
}

function isClosed(reason: unknown): boolean {
  return reason instanceof SseError && reason.code === 'ERR_SSE_CLOSED'
}

function isNotSent(error: unknown): boolean {
  return error instanceof Undelivered && error.why === 'not-sent'
}

/** @throws The signal's reason. */
function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
