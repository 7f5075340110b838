import type { ByteSource } from './body.ts'
import { isEventStream } from './outcome.ts'

/** The handler that undici's fetch gives its dispatcher, as far as a body is concerned. */
export interface BodyHandler {
  onConnect?(abort: unknown, context: unknown): void
  onHeaders?(status: number, rawHeaders: Buffer[], resume: () => void, statusText: string): boolean
  onData?(chunk: Uint8Array): boolean
  onComplete?(trailers: unknown): void
  onError?(error: unknown): void
}

/** Bytes that may wait for the consumer before the socket is left unread, and back-pressure reaches the server. */
const HIGH_WATER_BYTES = 65_536

/**
 * A body taken where undici's HTTP parser hands it over, instead of behind the two streams of its fetch. Those copy each
 * byte twice and cost 100 ns an event at 64 KiB a chunk and far more at one event a chunk; and they throw away what had
 * arrived when the connection breaks, where this still gives it out.
 */
export class TapSource implements ByteSource {
  /** Whether the body was taken over; if not, it comes through the response as usual. */
  tapped = false
  #chunks: Uint8Array[] = []
  #bytes = 0
  #end: { error: unknown } | 'complete' | undefined
  #paused = false
  #resume: () => void = () => {}
  #waiting: { resolve: (more: boolean) => void; reject: (error: unknown) => void } | undefined
  /** Held, because undici cancels a fetch whose response was collected as garbage. */
  held: Response | undefined

  /** Takes the body over when the answer is an event stream; all others, and encoded bodies, stay with fetch. */
  attach(handler: BodyHandler, onWritten: () => void): void {
    const { onConnect, onHeaders, onData, onComplete, onError } = handler
    // Called with the first byte about to leave. onRequestSent would say more, but no interceptor hands it on.
    handler.onConnect = (abort, context) => {
      onWritten()
      onConnect?.call(handler, abort, context)
    }
    // Another undici with another handler than this: its streams work, too.
    if (!onHeaders || !onData || !onComplete || !onError) return
    handler.onHeaders = (status, rawHeaders, resume, statusText) => {
      const headers = { get: (name: string) => rawHeader(name, rawHeaders) }
      this.tapped = status === 200 && isEventStream(headers) && headers.get('content-encoding') === null
      this.#resume = resume
      const goOn = onHeaders.call(handler, status, rawHeaders, resume, statusText)
      // Of an interim answer (103 Early Hints) it says false, which some dispatchers take for a wish to pause.
      return goOn || status < 200
    }
    handler.onData = chunk => (this.tapped ? this.#push(chunk) : onData.call(handler, chunk))
    handler.onComplete = trailers => {
      this.#finish('complete')
      onComplete.call(handler, trailers)
    }
    handler.onError = error => {
      this.#finish({ error })
      onError.call(handler, error)
    }
  }

  of(response: Response): this {
    this.held = response
    return this
  }

  ready(): Promise<boolean> {
    if (this.#chunks.length === 0 && this.#paused) {
      this.#paused = false
      this.#resume()
    }
    if (this.#chunks.length > 0) return Promise.resolve(true)
    if (this.#end === 'complete') return Promise.resolve(false)
    if (this.#end !== undefined) return Promise.reject(this.#end.error)
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  take(): Uint8Array[] {
    const chunks = this.#chunks
    this.#chunks = []
    this.#bytes = 0
    return chunks
  }

  cancel(reason: unknown): void {
    this.#chunks = []
    // Frees the socket where no signal of ours does. Not awaited: nobody waits for it.
    this.held?.body?.cancel(reason).catch(() => {})
    this.held = undefined
  }

  #push(chunk: Uint8Array): boolean {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#waiting?.resolve(true)
    this.#waiting = undefined
    this.#paused = this.#bytes >= HIGH_WATER_BYTES
    return !this.#paused
  }

  #finish(end: { error: unknown } | 'complete'): void {
    this.#end ??= end
    if (end === 'complete') this.#waiting?.resolve(false)
    else this.#waiting?.reject(end.error)
    this.#waiting = undefined
  }
}

/** As `Headers` gives it. `rawHeaders`: names and values in turn. */
function rawHeader(name: string, rawHeaders: readonly Buffer[]): string | null {
  const values = rawHeaders.filter((_, index) => {
    const given = index % 2 === 1 ? rawHeaders[index - 1] : undefined
    return given?.length === name.length && given.toString('latin1').toLowerCase() === name
  })
  return values.length > 0 ? values.map(value => value.toString('latin1')).join(', ') : null
}

const taps = new WeakMap<Response, TapSource>()

/** A fetch that taps the streams among its answers. Only {@link tapOf} can read them then, not their `body`. */
export function rememberTap(response: Response, tap: TapSource): Response {
  if (tap.tapped) taps.set(response, tap)
  return response
}

export function tapOf(response: Response): ByteSource | undefined {
  return taps.get(response)?.of(response)
}
