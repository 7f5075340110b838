import type { SseError, SseEvent } from '../../index.ts'
import { type StreamRules, SurvivingBody, survivingResponse } from './body.ts'
import { Budget } from './budget.ts'
import { engineFor } from './engine.ts'
import { blockOf, messageBlock } from './frames.ts'
import { Legs } from './legs.ts'
import { type Message, messagesIn, type RequestId } from './messages.ts'
import type { McpSettings } from './options.ts'
import { patience } from './patience.ts'
import { asStream, mayReissue, Reissue } from './reissue.ts'
import type { McpRequest } from './request.ts'
import { type LostReason, settle } from './settle.ts'
import { Subscription } from './subscription.ts'
import { verdictOn } from './verdict.ts'

const HOUR_MS = 3_600_000

/** The answer to a POST of the 2026 revision: it cannot be resumed, so what may be asked twice is asked again. */
export class ReissuedStream implements StreamRules {
  readonly response: Response
  readonly #id: RequestId
  readonly #mayReissue: boolean
  readonly #reissue: Reissue
  readonly #subscription: Subscription | undefined
  readonly #budget: Budget
  readonly #legs: Legs
  readonly #body: SurvivingBody
  #finished = false
  #lost: LostReason = 'ended'

  constructor(
    answer: Response,
    request: McpRequest,
    message: Message & { id: RequestId; method: string },
    settings: McpSettings,
  ) {
    const { id, method } = message
    const { heartbeat, backoff, breaker, fetch, resendTool } = settings
    this.#id = id
    this.#reissue = new Reissue(request.text ?? '', id)
    this.#subscription = method === 'subscriptions/listen' ? new Subscription(id) : undefined
    this.#mayReissue = this.#subscription !== undefined || mayReissue(message, resendTool)
    this.#budget = new Budget(this.#subscription ? Number.POSITIVE_INFINITY : backoff.maxAttempts)
    this.#legs = new Legs(answer, async (url, init) => {
      const sent: RequestInit = { ...request.init, body: this.#reissue.next() }
      if (init?.signal) sent.signal = init.signal
      return asStream(await fetch(url, sent))
    })
    this.#body = new SurvivingBody(this, request.signal)
    engineFor({
      request,
      headers: new Headers(),
      legs: this.#legs,
      body: this.#body,
      settings,
      stream: {
        kind: this.#subscription ? 'standalone' : 'request',
        ids: [id],
        methods: [method],
        sessionId: undefined,
      },
      onOpen: () => {},
      own: {
        // A read that is done again misses nothing.
        resume: this.#subscription ? {} : false,
        heartbeat: patience(heartbeat, () => false),
        backoff: {
          ...backoff,
          maxAttempts: Number.POSITIVE_INFINITY,
          ...(this.#subscription ? {} : { resetAfterMs: HOUR_MS }),
        },
        breaker: this.#subscription ? (breaker ?? {}) : false,
        isRetryable: error => this.#mayAskAgain(error),
        onComment: this.#body.comment,
      },
    })
    this.response = survivingResponse(answer, this.#body.stream)
  }

  blockFor(event: SseEvent): string {
    if (event.data === '') return ''
    const messages = messagesIn(event.data)
    if (messages.length === 0) return blockOf(event, false)
    const told = messages.flatMap(message => {
      const own = this.#reissue.mappedBack(message)
      if (own.method === undefined && own.id === this.#id) this.#finished = true
      return this.#subscription?.told(own) ?? [own]
    })
    // That a subscription is acknowledged is what a flapping server says each time.
    if (this.#subscription === undefined) this.#budget.progress()
    return told.map(messageBlock).join('')
  }

  isFinished(): boolean {
    return this.#finished
  }

  lastWords(error: unknown): string {
    const known = { reason: this.#lost, lastEventId: undefined, attempts: this.#legs.resumes, error }
    return settle([this.#id], known)
  }

  ended(): void {
    this.#legs.discard()
  }

  #mayAskAgain(error: SseError): boolean {
    if (this.#finished) return false
    const verdict = verdictOn(error)
    if (!this.#mayReissue) this.#lost = 'not-resent'
    else if (verdict !== 'again') this.#lost = verdict === 'unauthorized' ? verdict : 'not-resumable'
    else if (!this.#budget.allows(false)) this.#lost = 'exhausted'
    else return true
    return false
  }
}
