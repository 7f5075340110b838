import type { ByteSource } from './body.ts'
import { isEventStream } from './outcome.ts'

type Abort = (reason: unknown) => void

/** The handler that undici's fetch gives its dispatcher, as far as a body is concerned. */
export interface BodyHandler {
  onConnect?(abort: Abort, context: unknown): void
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
 * arrived when the connection breaks, where this still gives it out. Once the body is taken over, the fetch is told that it
 * was empty: its requests, streams and promises would hold a third of an idle stream's memory.
 */
export class TapSource implements ByteSource {
  /** Whether the body can be taken over; if not, it comes through the response as usual. */
  tapped = false
  #chunks: Uint8Array[] = []
  #bytes = 0
  #end: { error: unknown } | 'complete' | undefined
  #paused = false
  #resume: () => void = () => {}
  /** Ends the request, wherever it goes. */
  #abort: (reason: unknown) => void = () => {}
  #waiting: { resolve: (more: boolean) => void; reject: (error: unknown) => void } | undefined
  /** The fetch, as long as it takes part. */
  #fetch: Required<BodyHandler> | undefined
  #onWritten: (() => void) | undefined

  /** Stands between the request and the handler of its fetch. Event streams are kept from it, unless they are encoded. */
  handlerFor(fetch: BodyHandler, onWritten: () => void): BodyHandler {
    // Another undici with another handler than this: its streams work, too.
    if (!isComplete(fetch)) {
      onWritten()
      return fetch
    }
    this.#fetch = fetch
    this.#onWritten = onWritten
    return {
      onConnect: (abort, context) => {
        // Called with the first byte about to leave. onRequestSent would say more, but no interceptor hands it on.
        this.#onWritten?.()
        this.#abort = abort
        const whileItTakesPart: Abort = reason => this.#fetch !== undefined && abort(reason)
        this.#fetch?.onConnect(whileItTakesPart, context)
      },
      onHeaders: (status, rawHeaders, resume, statusText) => {
        const headers = { get: (name: string) => rawHeader(name, rawHeaders) }
        this.tapped = status === 200 && isEventStream(headers) && headers.get('content-encoding') === null
        this.#resume = resume
        const goOn = this.#fetch?.onHeaders(status, rawHeaders, resume, statusText)
        // Of an interim answer (103 Early Hints) it says false, which some dispatchers take for a wish to pause.
        return goOn || status < 200
      },
      onData: chunk => (this.tapped ? this.#push(chunk) : (this.#fetch?.onData(chunk) ?? true)),
      onComplete: trailers => {
        this.#finish('complete')
        this.#fetch?.onComplete(trailers)
      },
      onError: error => {
        this.#finish({ error })
        this.#fetch?.onError(error)
      },
    }
  }

  /** Takes the body over, if that can be done: nothing but {@link cancel} and `signal` ends the request from here on. */
  takeOver(signal: AbortSignal | null | undefined): this | undefined {
    if (!this.tapped) return undefined
    const fetch = this.#fetch
    this.#fetch = undefined
    this.#onWritten = undefined
    if (this.#end === undefined) fetch?.onComplete([])
    signal?.addEventListener('abort', () => this.cancel(signal.reason), { once: true })
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
    this.#abort(reason)
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

function isComplete(fetch: BodyHandler): fetch is Required<BodyHandler> {
  return Boolean(fetch.onConnect && fetch.onHeaders && fetch.onData && fetch.onComplete && fetch.onError)
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

export function tapOf(response: Response, signal: RequestInit['signal']): ByteSource | undefined {
  return taps.get(response)?.takeOver(signal)
}
