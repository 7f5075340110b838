import type { ResilientSse, SseError, SseEvent } from '../../index.ts'
import { type StreamRules, SurvivingBody, survivingResponse } from './body.ts'
import { Budget } from './budget.ts'
import type { CallRegister, Cancellable } from './cancelled.ts'
import type { SessionCredentials } from './credentials.ts'
import { engineFor } from './engine.ts'
import { blockOf } from './frames.ts'
import { type Handovers, NOTHING_LEFT } from './handover.ts'
import { Legs } from './legs.ts'
import { answersIn, isPriming, progressIn, type RequestId } from './messages.ts'
import type { McpSettings } from './options.ts'
import { patience } from './patience.ts'
import { Renewal } from './renewal.ts'
import type { McpRequest } from './request.ts'
import { type LostReason, settle } from './settle.ts'
import { type Verdict, verdictOn } from './verdict.ts'

const HOUR_MS = 3_600_000

/** What a wrapper knows across its streams. */
export interface Shared {
  settings: McpSettings
  register: CallRegister
  handovers: Handovers
  credentials: SessionCredentials
  /** The server does not know the session any more. */
  onSessionLost: () => void
}

/** What a stream is to answer, and how it goes on. */
export interface Calls {
  requests: readonly { id: RequestId; method: string }[]
  /** Of each GET that resumes the stream. */
  headers: Headers
}

/** The answer to a POST: it goes on by GET and Last-Event-ID until every call in it is answered, or settled. */
export class RequestStream implements StreamRules, Cancellable {
  readonly response: Response
  readonly #ids: readonly RequestId[]
  /** What still wants an answer, with its method. */
  readonly #open: Map<RequestId, string>
  readonly #session: string | null
  readonly #shared: Shared
  readonly #renewal: Renewal
  readonly #budget: Budget
  readonly #legs: Legs
  readonly #engine: ResilientSse
  readonly #body: SurvivingBody
  /** Whether an event of the present leg brought an id; a block without an event only moves the cursor. */
  #legHadId = false
  #idAtOpen: string | undefined
  #lost: LostReason = 'ended'

  constructor(answer: Response, request: McpRequest, calls: Calls, shared: Shared) {
    const { requests, headers } = calls
    const { heartbeat, backoff, resume } = shared.settings
    this.#ids = requests.map(({ id }) => id)
    this.#open = new Map(requests.map(({ id, method }) => [id, method]))
    this.#session = headers.get('mcp-session-id')
    this.#shared = shared
    this.#budget = new Budget(backoff.maxAttempts)
    this.#legs = new Legs(answer, async (url, init) =>
      this.#renewal.judged(await resume(url, init), request.url),
    )
    this.#body = new SurvivingBody(this, request.signal)
    this.#renewal = new Renewal(headers, answer, {
      session: this.#session,
      handovers: shared.handovers,
      credentials: shared.credentials.of(request.url, this.#session),
      body: this.#body,
      cursor: () => this.#engine.lastEventId,
    })
    this.#engine = engineFor({
      request,
      headers: ({ signal }) => this.#renewal.headers(signal),
      legs: this.#legs,
      body: this.#body,
      settings: shared.settings,
      stream: {
        kind: 'request',
        ids: this.#ids,
        methods: [...this.#open.values()],
        sessionId: this.#session ?? undefined,
      },
      onOpen: () => {
        this.#renewal.accepted()
        this.#legHadId = false
        this.#idAtOpen = this.#engine.lastEventId
      },
      own: {
        resume: {},
        heartbeat: patience(heartbeat, () => Boolean(this.#engine.lastEventId)),
        // A leg that merely lived is no progress, and how many legs there may be is the budget's affair.
        backoff: { ...backoff, maxAttempts: Number.POSITIVE_INFINITY, resetAfterMs: HOUR_MS },
        breaker: false,
        isRetryable: error => this.#mayResume(error),
        onComment: this.#body.comment,
      },
    })
    this.response = survivingResponse(answer, this.#body.stream)
    shared.register.add(this.#session, this.#ids, this)
  }

  blockFor(event: SseEvent): string {
    if (event.id) this.#legHadId = true
    if (isPriming(event.data)) return ''
    this.#budget.progress()
    const answers = answersIn(event.data)
    const own = answers.filter(id => this.#open.delete(id))
    this.#shared.register.over(this.#session, own, this)
    const isForeign = answers.length > 0 && own.length === 0
    if (isForeign && !this.#shared.register.answered(this.#session, answers)) return ''
    if (this.#shared.register.isLate(this.#session, progressIn(event.data))) return ''
    return blockOf(event, this.#shared.settings.forwardEventIds)
  }

  isFinished(): boolean {
    return this.#open.size === 0
  }

  lastWords(error: unknown): string {
    const { lastEventId } = this.#engine
    const known = { reason: this.#lost, lastEventId, attempts: this.#legs.resumes, error }
    return settle(this.#open.keys(), known)
  }

  ended(): void {
    this.#legs.discard()
    this.#shared.register.remove(this.#session, this.#ids, this)
    this.#renewal.ended()
    const { lastEventId } = this.#engine
    // The SDK knows the cursor and may come back with it, although nothing is left to be answered.
    if (this.#shared.settings.forwardEventIds && lastEventId && !this.#renewal.isAsked)
      this.#shared.handovers.expect(this.#session, lastEventId, NOTHING_LEFT)
  }

  cancelled(id: RequestId): void {
    this.#open.delete(id)
    if (this.isFinished()) this.#body.close()
  }

  #mayResume(error: SseError): boolean {
    if (this.isFinished()) return false
    const verdict = this.#judge(error)
    if (verdict === 'again') return true
    if (verdict === 'session-lost') this.#shared.onSessionLost()
    this.#lost = verdict === 'final' ? 'not-resumable' : verdict
    return false
  }

  #judge(error: SseError): Verdict | LostReason {
    const verdict = verdictOn(error)
    if (verdict !== 'again' && !(verdict === 'unauthorized' && this.#renewal.mayGoOn)) return verdict
    const { lastEventId } = this.#engine
    if (!lastEventId) return 'no-cursor'
    const isPoll = error.code === 'ERR_SSE_END' && (this.#legHadId || lastEventId !== this.#idAtOpen)
    return this.#budget.allows(isPoll) ? 'again' : 'exhausted'
  }
}
