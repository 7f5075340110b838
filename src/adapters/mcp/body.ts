import type { ResilientSse, SseEvent } from '../../index.ts'
import { commentLine, encode } from './frames.ts'

/** What one kind of stream makes of what its engine brings. */
export interface StreamRules {
  /** What the SDK is given for an event; `''` for nothing. */
  blockFor(event: SseEvent): string
  /** Whether everything was said that this stream was opened for. */
  isFinished(): boolean
  /** What the SDK is told before its stream ends, the engine having ended by `error` or without one. */
  lastWords(error: unknown): string
  /** The end, whoever wanted it: called once. */
  ended(): void
}

/**
 * How long a finished stream is read on, for the end of its body: a connection that was read to the end serves the next
 * request, where a cancelled one is lost. To cancel at once doubled the connections.
 */
const LINGER_MS = 100
/**
 * How long the last answer is held back for that end, which most servers send in the same breath: the SDK's next request
 * then finds this connection free, and need not open another.
 */
const HOLD_MS = 5

/** The stream of bytes that the SDK reads in place of a connection's own. */
export class SurvivingBody {
  /** What the SDK reads, or will read when it comes for it. */
  stream!: ReadableStream<Uint8Array>
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #pulling: Promise<void> | undefined
  #over = false
  /** The end came, and there is nothing to be said of it. */
  isSilent = false
  readonly #signal: AbortSignal | undefined
  readonly #rules: StreamRules
  #engine!: ResilientSse
  #batches!: AsyncIterableIterator<SseEvent[], undefined>
  /** What comes after the last answer, asked for before that was passed on. */
  #ahead: Promise<IteratorResult<SseEvent[], undefined>> | undefined

  constructor(rules: StreamRules, signal: AbortSignal | undefined) {
    this.#rules = rules
    this.#signal = signal
    this.#begin()
  }

  #begin(): void {
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        // One that was begun for the stream before this one goes on.
        pull: () => (this.#pulling ??= this.#pull().finally(() => (this.#pulling = undefined))),
        cancel: () => {
          this.#end()
          return this.#engine.close()
        },
      },
      // Nothing is read ahead: back-pressure reaches the server.
      { highWaterMark: 0 },
    )
  }

  /** `engine` is made with {@link comment} as its listener, so it comes second. */
  readFrom(engine: ResilientSse): void {
    this.#engine = engine
    this.#batches = engine.batches()
  }

  /** A sign of life is passed on at once. */
  readonly comment = (comment: string): void => this.write(commentLine(comment))

  write(text: string): void {
    if (!this.#over && text !== '') this.#controller.enqueue(encode(text))
  }

  /** Ends the SDK's stream, which then has to come for another one; what each of them is told last and first. */
  handOver(last: string, first: string): void {
    if (this.#over) return
    this.write(last)
    this.#controller.close()
    this.#begin()
    this.write(first)
  }

  /** The stream ends here for the SDK; a last block may be told. */
  close(lastWords = ''): void {
    if (this.#over) return
    this.write(lastWords)
    this.isSilent = lastWords === ''
    this.#end()
    this.#controller.close()
    void this.#engine.close()
  }

  async #pull(): Promise<void> {
    for (;;) {
      let events: SseEvent[] | undefined
      try {
        events = (await this.#next()).value
      } catch (error) {
        return this.#endBy(error)
      }
      if (events === undefined) return this.#endBy(undefined)
      const text = events.map(event => this.#rules.blockFor(event)).join('')
      if (this.#rules.isFinished()) await this.#endOrHold()
      this.write(text)
      // A pull that brings nothing is not repeated.
      if (text !== '' || this.#over) return
    }
  }

  async #next(): Promise<IteratorResult<SseEvent[], undefined>> {
    const next = this.#ahead ?? this.#batches.next()
    this.#ahead = undefined
    if (!this.#rules.isFinished()) return next
    const timer = setTimeout(() => this.#engine.close(), LINGER_MS)
    try {
      return await next
    } finally {
      clearTimeout(timer)
    }
  }

  /** Waits for the end of the body, and for the turn of the event loop after it: only then is its connection free. */
  async #endOrHold(): Promise<void> {
    this.#ahead = this.#batches.next()
    let timer: ReturnType<typeof setTimeout> | undefined
    const held = new Promise(resolve => {
      timer = setTimeout(resolve, HOLD_MS)
    })
    await Promise.race([held, this.#ahead.catch(() => {})])
    clearTimeout(timer)
    await new Promise(resolve => setTimeout(resolve, 0))
  }

  #endBy(error: unknown): void {
    if (this.#over) return
    // A fetch would err when its signal aborts; the SDK, which aborted it, would tell its host of an error.
    const nothingToSay = this.#signal?.aborted || this.#rules.isFinished()
    this.close(nothingToSay ? '' : this.#rules.lastWords(error))
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#rules.ended()
  }
}

/** What the SDK is given: the answer's status and headers, around a body that survives. */
export function survivingResponse(answer: Response | undefined, body: ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers, url } = answer?.ok ? answer : new Response()
  const response = new Response(body, { status, statusText, headers })
  for (const name of ['content-length', 'content-encoding', 'transfer-encoding'])
    response.headers.delete(name)
  response.headers.set('content-type', 'text/event-stream')
  return Object.defineProperty(response, 'url', { value: url })
}
