import { ResilientSse, type SseError } from '../../../index.ts'
import type { McpSettings } from '../options.ts'
import { verdictOn } from '../verdict.ts'
import { EngineStream } from './engine-stream.ts'
import { Undelivered } from './undelivered.ts'

/**
 * How sessions follow one that was lost, at the pace of layer 4: to its engine a dial is an `initialize`, a connection is a
 * session, and an answer to a request of the host's is proof of health. So a server that loses each session at once is
 * asked ever more slowly, and `backoff.maxAttempts` times in a row.
 */
export class Succession {
  readonly #engine: ResilientSse
  #session = new EngineStream()
  #isProven = false
  #proofs = 0

  /** `open`: opens a session; gives back the answer by which the server has refused it. `onEnd`: there is none. */
  constructor(
    url: URL,
    settings: McpSettings,
    open: (signal: AbortSignal) => Promise<Response | undefined>,
    onEnd: (error: SseError) => void,
  ) {
    this.#engine = new ResilientSse(url, {
      fetch: async (_, init) => {
        const refusal = await open(init?.signal as AbortSignal)
        if (refusal !== undefined) return new Response(null, refusal)
        this.#isProven = false
        this.#session = new EngineStream()
        return this.#session.response
      },
      openTimeoutMs: settings.openTimeoutMs,
      backoff: settings.backoff,
      breaker: false,
      heartbeat: false,
      resume: false,
      dedupe: false,
      isRetryable: error => isLostAgain(error) || verdictOn(error) === 'again',
      onLifecycle: event =>
        settings.tell(event, { kind: 'session', ids: [], methods: ['initialize'], sessionId: undefined }),
    })
    void this.#run(onEnd)
  }

  /** The server has answered something in the present session. */
  proved(): void {
    if (!this.#isProven) this.#session.event('answered', ++this.#proofs)
    this.#isProven = true
  }

  lost(): void {
    this.#session.break(new Undelivered('session-lost'))
  }

  close(): void {
    void this.#engine.close()
  }

  async #run(onEnd: (error: SseError) => void): Promise<void> {
    try {
      for await (const _ of this.#engine);
    } catch (error) {
      onEnd(error as SseError)
    }
  }
}

/** The session was lost before it could be used. */
function isLostAgain({ cause }: SseError): boolean {
  return cause instanceof Undelivered && cause.why === 'session-lost'
}
