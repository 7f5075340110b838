import { isRequest, type Message, type RequestId } from '../messages.ts'
import type { Session } from './session.ts'
import type { SendOptions, Sent } from './types.ts'

/** A message of the host's on its way to the server, or a batch of them: until the server has taken it. */
export class Outgoing {
  readonly options: SendOptions | undefined
  /** Aborts when nobody waits for it any more. */
  readonly signal: AbortSignal
  readonly #abort = new AbortController()
  readonly #isBatch: boolean
  #messages: Message[]

  constructor(sent: Sent, options: SendOptions | undefined) {
    this.options = options
    this.#isBatch = Array.isArray(sent)
    this.#messages = [sent].flat()
    const given = options?.requestSignal
    this.signal = given === undefined ? this.#abort.signal : AbortSignal.any([given, this.#abort.signal])
  }

  get requests(): (Message & { id: RequestId; method: string })[] {
    return this.#messages.filter(isRequest)
  }

  /** A new session has its own. */
  get isInitialized(): boolean {
    return this.#messages[0]?.method === 'notifications/initialized'
  }

  /** The transport is closed. */
  abandon(reason: unknown): void {
    this.#abort.abort(reason)
  }

  cancel(id: RequestId): void {
    this.#messages = this.#messages.filter(message => !isRequest(message) || message.id !== id)
    if (this.#messages.length === 0) this.#abort.abort()
  }

  /** What of it is meant for this session; `undefined` for nothing. */
  for(session: Session): Sent | undefined {
    const messages = this.#messages.flatMap(message => session.outbound(message) ?? [])
    return this.#isBatch && messages.length > 0 ? messages : messages[0]
  }
}
