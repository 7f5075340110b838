import { Breaker, type ResilientSse, type SseError, type SseEvent } from '../../index.ts'
import { type StreamRules, SurvivingBody, survivingResponse } from './body.ts'
import type { CallRegister } from './cancelled.ts'
import { engineFor } from './engine.ts'
import { blockOf } from './frames.ts'
import { type Handovers, NOTHING_LEFT } from './handover.ts'
import { Legs } from './legs.ts'
import { answersIn, isPriming, progressIn, type RequestId } from './messages.ts'
import type { McpSettings, McpStream } from './options.ts'
import { Renewal } from './renewal.ts'
import type { McpRequest } from './request.ts'
import type { Shared } from './request-stream.ts'
import { resumeHeaders } from './resume-request.ts'
import { type Verdict, verdictOn } from './verdict.ts'
import { ZombieWatch } from './zombie.ts'

/**
 * The stream of what the server sends on its own account (GET). It ends when the session is lost, and otherwise only with
 * the SDK: the breaker opens and probes, and credentials that nobody can replace are waited for.
 */
export class StandaloneStream implements StreamRules {
  readonly response: Response
  readonly #stream: McpStream
  readonly #settings: McpSettings
  readonly #handovers: Handovers
  readonly #register: CallRegister
  readonly #renewal: Renewal
  readonly #onSessionLost: () => void
  readonly #legs: Legs
  readonly #engine: ResilientSse
  readonly #body: SurvivingBody
  readonly #zombies = new ZombieWatch()
  /** A GET with a cursor may be the answer to a call, resumed by the host. Then comments mean a long tool at work. */
  readonly #mayBeCall: boolean
  #finished = false
  /** There was such a stream once. */
  #isOffered = false
  #verdict: Verdict | undefined

  /** No `answer`: the server was away. */
  constructor(
    answer: Response | undefined,
    request: McpRequest,
    { settings, handovers, register, credentials, onSessionLost }: Shared,
  ) {
    const headers = resumeHeaders(request, answer ?? new Response(), [])
    const lastEventId = request.headers.get('last-event-id') ?? undefined
    const sessionId = headers.get('mcp-session-id') ?? undefined
    // The address has been right before: `initialize` was answered.
    const breaker = settings.breaker === false ? false : { onOpen: 'wait' as const, ...settings.breaker }
    this.#settings = settings
    this.#handovers = handovers
    this.#onSessionLost = onSessionLost
    this.#register = register
    this.#stream = { kind: 'standalone', ids: [], methods: [], sessionId }
    this.#mayBeCall = lastEventId !== undefined
    this.#legs = new Legs(answer, async (url, init) => {
      const headers = this.#zombies.without(new Headers(init?.headers))
      return this.#renewal.judged(await settings.resume(url, { ...init, headers }), request.url)
    })
    this.#body = new SurvivingBody(this, request.signal)
    this.#renewal = new Renewal(headers, answer, {
      session: sessionId ?? null,
      handovers,
      credentials: credentials.of(request.url, sessionId ?? null),
      body: this.#body,
      cursor: () => this.#engine.lastEventId,
      wake: () => this.#engine.reconnect(),
    })
    this.#engine = engineFor({
      request,
      headers: ({ signal }) => this.#renewal.headers(signal),
      legs: this.#legs,
      body: this.#body,
      settings,
      stream: this.#stream,
      onOpen: cursor => {
        this.#renewal.accepted()
        this.#isOffered = true
        this.#zombies.opened(cursor)
      },
      own: {
        resume: { lastEventId },
        heartbeat: settings.heartbeat ?? {},
        backoff: { ...settings.backoff, maxAttempts: Number.POSITIVE_INFINITY },
        breaker: settings.breaker instanceof Breaker ? settings.breaker : breaker,
        isRetryable: error => this.#mayReopen(error),
        onComment: comment => this.#heard(comment),
      },
    })
    this.response = survivingResponse(answer, this.#body.stream)
  }

  blockFor(event: SseEvent): string {
    if (event.id || event.data !== '') this.#zombies.alive()
    if (isPriming(event.data)) return ''
    const answers = answersIn(event.data)
    if (this.#mayBeCall) this.#finished ||= answers.length > 0
    else if (this.#isLate(event.data, answers)) return ''
    return blockOf(event, true)
  }

  /** Whether it is about calls that are over: some servers replay on this stream what belongs to all. */
  #isLate(data: string, answers: RequestId[]): boolean {
    const session = this.#stream.sessionId ?? null
    if (answers.length > 0) return !this.#register.answered(session, answers)
    return this.#register.isLate(session, progressIn(data))
  }

  isFinished(): boolean {
    return this.#finished
  }

  lastWords(): string {
    return ''
  }

  ended(): void {
    this.#legs.discard()
    this.#renewal.ended()
    const isNotOffered = !this.#isOffered && (this.#verdict === 'not-resumable' || this.#verdict === 'final')
    if (this.#verdict !== 'session-lost' && !isNotOffered) return
    // The SDK would ask for it twice more, and tell its host of two errors.
    this.#handovers.expect(this.#stream.sessionId ?? null, this.#engine.lastEventId ?? '', NOTHING_LEFT)
  }

  #mayReopen(error: SseError): boolean {
    if (this.#finished) return false
    this.#verdict = verdictOn(error)
    if (this.#verdict === 'session-lost') this.#onSessionLost()
    const { lastEventId } = this.#engine
    // Servers refuse a cursor with 400 that they do not know any more: the stream goes on without it.
    if (
      this.#verdict === 'not-resumable' &&
      lastEventId &&
      !this.#mayBeCall &&
      this.#zombies.refused(lastEventId)
    )
      this.#tellGap(lastEventId)
    if (this.#verdict === 'session-lost' || this.#verdict === 'final') return false
    return this.#verdict !== 'not-resumable' || this.#isOffered
  }

  #heard(comment: string): void {
    this.#body.comment(comment)
    const cursor = this.#mayBeCall ? undefined : this.#zombies.comment()
    if (cursor === undefined) return
    this.#tellGap(cursor)
    this.#engine.reconnect()
  }

  /** What was sent meanwhile is lost. */
  #tellGap(after: string): void {
    const gap = { type: 'gap', at: Date.now(), reason: 'cursor-ignored', after, before: undefined } as const
    this.#settings.tell(gap, this.#stream)
  }
}
