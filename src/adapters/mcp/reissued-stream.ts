import type { SseError, SseEvent } from '../../index.ts'
import { type StreamRules, SurvivingBody, survivingResponse } from './body.ts'
import { Budget } from './budget.ts'
import { engineFor } from './engine.ts'
import { blockOf, messageBlock } from './frames.ts'
import { Legs } from './legs.ts'
import { type Message, messagesIn, type RequestId } from './messages.ts'
import type { McpSettings, McpStream } from './options.ts'
import { patience } from './patience.ts'
import { asStream, LISTEN, mayReissue, Reissue, type RenamedIds, redirectedWithin } from './reissue.ts'
import type { McpRequest } from './request.ts'
import { type LostReason, settle } from './settle.ts'
import { Subscription } from './subscription.ts'
import { verdictOn } from './verdict.ts'

const HOUR_MS = 3_600_000
/**
 * A POST has no limit but its caller's: its answer may be JSON that comes when the work is done, and to close the leg
 * would cancel the work. This is the longest that an engine can be told.
 */
const NO_OPEN_TIMEOUT_MS = 600_000

/** The answer to a POST of the 2026 revision: it cannot be resumed, so what may be asked twice is asked again. */
export class ReissuedStream implements StreamRules {
  readonly response: Response
  readonly #id: RequestId
  readonly #onResult: ((result: unknown) => void) | undefined
  readonly #mayReissue: boolean
  readonly #reissue: Reissue
  readonly #subscription: Subscription | undefined
  readonly #budget: Budget
  readonly #legs: Legs
  readonly #body: SurvivingBody
  #finished = false
  #lost: LostReason = 'ended'

  constructor(
    /** `undefined` when the connection broke before the answer began. */
    answer: Response | undefined,
    request: McpRequest,
    message: Message & { id: RequestId; method: string },
    settings: McpSettings,
    renamed: RenamedIds,
    onResult?: (result: unknown) => void,
  ) {
    const { id, method } = message
    const { heartbeat, backoff, breaker, fetch, openTimeoutMs, resendTool } = settings
    const stream: McpStream = {
      kind: method === LISTEN ? 'standalone' : 'request',
      ids: [id],
      methods: [method],
      sessionId: undefined,
    }
    this.#id = id
    this.#onResult = onResult
    this.#reissue = new Reissue(request.text ?? '', id, renamed)
    this.#subscription =
      method === LISTEN
        ? new Subscription(id, () => {
            const gap = { type: 'gap', reason: 'no-cursor', after: undefined, before: undefined } as const
            settings.tell({ ...gap, at: Date.now() }, stream)
          })
        : undefined
    this.#mayReissue = mayReissue(request, message, resendTool)
    this.#budget = new Budget(this.#subscription ? Number.POSITIVE_INFINITY : backoff.maxAttempts)
    this.#legs = new Legs(answer, async (url, init) => {
      const sent: RequestInit = { ...request.init, body: this.#reissue.next() }
      if (init?.signal) sent.signal = init.signal
      const next = redirectedWithin(request.url.origin, await fetch(url, sent), new URL(String(url)))
      return asStream(next, this.#reissue.id)
    })
    this.#body = new SurvivingBody(this, request.signal)
    engineFor({
      request,
      headers: new Headers(),
      legs: this.#legs,
      body: this.#body,
      settings: {
        ...settings,
        // Event ids mean nothing here: a server may number each answer from 1.
        dedupe: false,
        openTimeoutMs: this.#subscription ? openTimeoutMs : NO_OPEN_TIMEOUT_MS,
      },
      stream,
      onOpen: () => {},
      own: {
        // No cursor is ever sent. A read that is done again misses nothing, and what a subscription misses is told here.
        resume: false,
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
    const told = messages
      .map(message => this.#reissue.mappedBack(message))
      .flatMap(message => this.#subscription?.told(message) ?? [message])
    const answer = told.find(({ method, id }) => method === undefined && id === this.#id)
    if (answer !== undefined) {
      this.#finished = true
      this.#onResult?.(answer.result)
    }
    // That a subscription is acknowledged is what a flapping server says each time.
    if (this.#subscription === undefined) this.#budget.progress()
    const text = told.map(messageBlock).join('')
    if (!this.#subscription?.isNarrowed || this.#finished) return text
    this.#finished = true
    this.#lost = 'narrowed'
    return text + this.lastWords(undefined)
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
