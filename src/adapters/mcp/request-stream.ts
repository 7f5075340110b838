import { ResilientSse, type SseError, type SseEvent } from '../../index.ts'
import { type StreamRules, SurvivingBody, survivingResponse } from './body.ts'
import { Budget } from './budget.ts'
import type { CallRegister, Cancellable } from './cancelled.ts'
import { blockOf } from './frames.ts'
import { Legs } from './legs.ts'
import { answersIn, type Message, type RequestId, requestsIn } from './messages.ts'
import type { McpSettings, McpStream } from './options.ts'
import type { McpRequest } from './request.ts'
import { resumeHeaders } from './resume-request.ts'
import { type LostReason, settle } from './settle.ts'
import { type Verdict, verdictOn } from './verdict.ts'

const HOUR_MS = 3_600_000

/** The answer to a POST: it goes on by GET and Last-Event-ID until every call in it is answered, or settled. */
export class RequestStream implements StreamRules, Cancellable {
  readonly response: Response
  readonly #open: Set<RequestId>
  readonly #session: string | null
  readonly #settings: McpSettings
  readonly #register: CallRegister
  readonly #budget: Budget
  readonly #legs: Legs
  readonly #engine: ResilientSse
  readonly #body: SurvivingBody
  /** Whether the present leg brought an id. */
  #legHadId = false
  #verdict: Verdict | 'no-cursor' | 'exhausted' | undefined

  constructor(
    answer: Response,
    request: McpRequest,
    messages: readonly Message[],
    settings: McpSettings,
    register: CallRegister,
  ) {
    const requests = requestsIn(messages)
    const headers = resumeHeaders(request, answer, messages)
    this.#open = new Set(requests.map(({ id }) => id))
    this.#session = headers.get('mcp-session-id')
    this.#settings = settings
    this.#register = register
    this.#budget = new Budget(settings.backoff.maxAttempts)
    this.#legs = new Legs(answer, settings.fetch)
    this.#body = new SurvivingBody(this, request.signal)
    const stream: McpStream = {
      kind: 'request',
      ids: [...this.#open],
      methods: requests.map(({ method }) => method),
      sessionId: this.#session ?? undefined,
    }
    const { heartbeat, backoff, dedupe, openTimeoutMs, maxEventChars, onLifecycle } = settings
    this.#engine = new ResilientSse(request.url, {
      headers,
      signal: request.signal,
      fetch: this.#legs.fetch,
      openTimeoutMs,
      maxEventChars,
      heartbeat,
      // A leg that merely lived is no progress, and how many there may be is the budget's affair.
      backoff: { ...backoff, maxAttempts: Number.POSITIVE_INFINITY, resetAfterMs: HOUR_MS },
      breaker: false,
      dedupe: dedupe === false ? false : { ...dedupe, by: 'id+data' },
      isRetryable: error => this.#mayResume(error),
      onComment: this.#body.comment,
      onLifecycle: event => {
        if (event.type === 'open') this.#legHadId = false
        onLifecycle?.(event, stream)
      },
    })
    this.#body.readFrom(this.#engine)
    this.response = survivingResponse(answer, this.#body.stream)
    register.add(this.#session, this.#open, this)
  }

  blockFor(event: SseEvent): string {
    if (event.id) this.#legHadId = true
    // A priming event: there is nothing in it but its id.
    if (event.data === '') return ''
    this.#budget.progress()
    for (const id of answersIn(event.data)) this.#open.delete(id)
    return blockOf(event, this.#settings.forwardEventIds)
  }

  isFinished(): boolean {
    return this.#open.size === 0
  }

  lastWords(error: unknown): string {
    const { lastEventId } = this.#engine
    return settle(this.#open, { reason: this.#reason(), lastEventId, attempts: this.#legs.resumes, error })
  }

  ended(): void {
    this.#legs.discard()
    this.#register.remove(this.#session, this.#open, this)
  }

  cancelled(id: RequestId): void {
    this.#open.delete(id)
    if (this.isFinished()) this.#body.close()
  }

  #mayResume(error: SseError): boolean {
    if (this.isFinished()) return false
    this.#verdict = verdictOn(error)
    if (this.#verdict !== 'again') return false
    if (!this.#engine.lastEventId) this.#verdict = 'no-cursor'
    else if (!this.#budget.allows(error.code === 'ERR_SSE_END' && this.#legHadId)) this.#verdict = 'exhausted'
    return this.#verdict === 'again'
  }

  #reason(): LostReason {
    switch (this.#verdict) {
      case undefined:
      case 'again':
        return 'ended'
      case 'final':
        return 'not-resumable'
      default:
        return this.#verdict
    }
  }
}
