import type { SseEvent } from '../../../index.ts'
import { type StreamRules, SurvivingBody, survivingResponse } from '../body.ts'
import { engineFor } from '../engine.ts'
import { blockOf } from '../frames.ts'
import { Legs } from '../legs.ts'
import type { McpSettings } from '../options.ts'
import { patience } from '../patience.ts'
import type { McpRequest } from '../request.ts'

/**
 * The stream of HTTP+SSE (2024-11-05): its first event names the endpoint of a session that lives as long as the stream.
 * So there is one leg, and a second endpoint is the end of the session, whoever sends it.
 */
export class LegacyStream implements StreamRules {
  readonly response: Response
  readonly #legs: Legs
  readonly #body: SurvivingBody
  readonly #onEnd: () => void
  #hasEndpoint = false
  #isOver = false

  /** `onEnd`: the session is lost. Not called when the SDK closes the stream. */
  constructor(answer: Response, request: McpRequest, settings: McpSettings, onEnd: () => void) {
    this.#onEnd = onEnd
    this.#legs = new Legs(answer, settings.resume)
    this.#body = new SurvivingBody(this, request.signal)
    engineFor({
      request,
      headers: request.headers,
      legs: this.#legs,
      body: this.#body,
      settings,
      stream: { kind: 'standalone', ids: [], methods: [], sessionId: undefined },
      onOpen: () => {},
      own: {
        resume: false,
        heartbeat: patience(settings.heartbeat, () => false),
        backoff: settings.backoff,
        breaker: false,
        isRetryable: () => false,
        onComment: this.#body.comment,
      },
    })
    this.response = survivingResponse(answer, this.#body.stream)
  }

  blockFor(event: SseEvent): string {
    if (event.event === 'endpoint') {
      this.#isOver = this.#hasEndpoint
      this.#hasEndpoint = true
    }
    return this.#isOver ? '' : blockOf(event, true)
  }

  isFinished(): boolean {
    return this.#isOver
  }

  lastWords(): string {
    this.#onEnd()
    return ''
  }

  ended(): void {
    this.#legs.discard()
    if (this.#isOver) this.#onEnd()
  }
}
