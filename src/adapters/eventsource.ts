import type { LifecycleEvent, ResilientSse, SseError } from '../index.ts'
import { EventSourceErrorEvent } from './eventsource-error.ts'
import type { EventSourceInit } from './eventsource-init.ts'
import { openStream } from './eventsource-options.ts'
import { SUPPORTED_OPTIONS } from './eventsource-spellings.ts'

export { EventSourceErrorEvent, EventSourceErrorEvent as ErrorEvent } from './eventsource-error.ts'
export type {
  EventSourceFetchInit,
  EventSourceInit,
  FetchLike,
  FetchLikeResponse,
} from './eventsource-init.ts'

/** What each `on…` attribute and typed listener is called with. */
export interface EventSourceEventMap {
  /** The stream is open, for the first time or again. */
  open: Event
  message: MessageEvent
  /** A connection was lost (`readyState` CONNECTING: it will be dialled again), or the stream is over (CLOSED). */
  error: ErrorEventLike
}

/** {@link EventSourceErrorEvent}; its fields are optional here, so that handlers made for the DOM's type fit. */
export type ErrorEventLike = Event & Partial<EventSourceErrorEvent>

// Any `this`, so that handlers made for the DOM's class fit, and this class fits where the DOM's is wanted.
// biome-ignore lint/suspicious/noExplicitAny: see above.
type Handler<OnEvent extends Event> = ((this: any, event: OnEvent) => any) | null

// The DOM's names for these are missing in projects without its library.
type Listener = ((event: Event) => unknown) | { handleEvent(event: Event): unknown }
interface RemoveOptions {
  capture?: boolean
}
interface AddOptions extends RemoveOptions {
  once?: boolean
  passive?: boolean
  signal?: AbortSignal
}

/**
 * `EventSource` as the HTML standard has it (9.2), on top of the five layers: what ends another one for good, or leaves
 * it hanging, this one survives. docs/eventsource.md lists the differences; `conformance: 'whatwg'` turns them off.
 */
export class EventSource extends EventTarget {
  /** [launchdarkly-eventsource] The options beyond the DOM's that take effect here, for applications that look first. */
  static readonly supportedOptions = SUPPORTED_OPTIONS
  declare static readonly CONNECTING: 0
  declare static readonly OPEN: 1
  declare static readonly CLOSED: 2
  declare readonly CONNECTING: 0
  declare readonly OPEN: 1
  declare readonly CLOSED: 2

  /** The URL that was given, resolved against the page's where there is one. */
  readonly url: string
  /** Whether a browser sends cookies to another origin, too. Without meaning on Node, which has no cookies. */
  readonly withCredentials: boolean
  readonly #stream: ResilientSse
  readonly #handlers = new Map<string, { handler: (event: Event) => unknown; listener: Listener }>()
  #readyState: 0 | 1 | 2 = 0
  #origin = ''
  /** Why the connection was lost or the dial failed, until an error event has told it. */
  #loss: SseError | undefined

  /**
   * @param url Absolute, or relative to the page's URL where there is one.
   * @param init The options of the core, and those of the libraries that people come from; see {@link EventSourceInit}.
   * @throws DOMException `SyntaxError` when `url` is not one. SseError `ERR_SSE_OPTION`, naming the option.
   */
  constructor(url: string | URL, init: EventSourceInit | null = {}) {
    super()
    const absolute = resolveUrl(url)
    const options = init ?? {}
    const { onLifecycle } = options
    this.url = absolute.href
    this.withCredentials = Boolean(options.withCredentials)
    this.#stream = openStream(absolute, options, event => {
      try {
        // First, because a handler may close the stream, and nothing is told after its end.
        return onLifecycle?.(event)
      } finally {
        this.#told(event)
      }
    })
    void this.#run()
  }

  /** CONNECTING 0, OPEN 1, CLOSED 2; CONNECTING also while a layer waits before the next dial. */
  get readyState(): 0 | 1 | 2 {
    return this.#readyState
  }

  /** Ends the stream at once: no event follows, not even of what was read already. */
  close(): void {
    this.#readyState = EventSource.CLOSED
    // A save that failed is told as a `cursor` event.
    this.#stream.close().catch(() => {})
  }

  /** Gives up the connection, or the wait for one, and dials at once; for pages that know better than the layers. */
  reconnect(): void {
    if (this.#readyState !== EventSource.CLOSED) this.#stream.reconnect()
  }

  async #run(): Promise<void> {
    // One for all events, because a constructor reads it and lets it go.
    const init = { data: '', lastEventId: '', origin: '' }
    try {
      for await (const { event, data, id } of this.#stream) {
        init.data = data
        init.lastEventId = id ?? this.#stream.lastEventId ?? ''
        init.origin = this.#origin
        this.dispatchEvent(new MessageEvent(event || 'message', init))
      }
    } catch {
      // Its lifecycle has told how it ended.
    }
  }

  #told(event: LifecycleEvent): void {
    if (this.#readyState === EventSource.CLOSED) return
    if (event.type === 'open') {
      this.#readyState = EventSource.OPEN
      // [spec] "the serialization of the origin of the event stream's final URL (i.e., the URL after redirects)"
      this.#origin = new URL(event.url).origin
      this.dispatchEvent(new Event('open'))
    } else if (event.type === 'drop') {
      this.#loss = event.error
    } else if (event.type === 'dial') {
      // A connection that was given up on purpose is no error, nor is a token that was stale.
      this.#readyState = EventSource.CONNECTING
      this.#loss = undefined
    } else if (event.type === 'wait' && this.#loss !== undefined) {
      // [spec] "Reestablish the connection": an error event, then the wait. A loss that is final is told at the end.
      this.#readyState = EventSource.CONNECTING
      this.#tellError(this.#loss)
    } else if (event.type === 'close') {
      // [spec] "Fail the connection"; `close()` and the signal are no failures.
      this.#readyState = EventSource.CLOSED
      if (event.reason === 'error') this.#tellError(event.error as SseError)
      if (event.reason === 'end') this.#tellError(this.#loss)
    }
  }

  #tellError(error: SseError | undefined): void {
    this.#loss = undefined
    this.dispatchEvent(new EventSourceErrorEvent(error))
  }

  override addEventListener<Type extends keyof EventSourceEventMap>(
    type: Type,
    listener: (this: EventSource, event: EventSourceEventMap[Type]) => unknown,
    options?: boolean | AddOptions,
  ): void
  override addEventListener(
    type: string,
    listener: (this: EventSource, event: MessageEvent) => unknown,
    options?: boolean | AddOptions,
  ): void
  override addEventListener(type: string, listener: Listener | null, options?: boolean | AddOptions): void
  override addEventListener(type: string, listener: unknown, options?: boolean | AddOptions): void {
    // Node warns of null, which the DOM takes without a word.
    if (listener !== null) super.addEventListener(type, listener as Listener, options)
  }

  override removeEventListener<Type extends keyof EventSourceEventMap>(
    type: Type,
    listener: (this: EventSource, event: EventSourceEventMap[Type]) => unknown,
    options?: boolean | RemoveOptions,
  ): void
  override removeEventListener(
    type: string,
    listener: (this: EventSource, event: MessageEvent) => unknown,
    options?: boolean | RemoveOptions,
  ): void
  override removeEventListener(
    type: string,
    listener: Listener | null,
    options?: boolean | RemoveOptions,
  ): void
  override removeEventListener(type: string, listener: unknown, options?: boolean | RemoveOptions): void {
    if (listener !== null) super.removeEventListener(type, listener as Listener, options)
  }

  get onopen(): Handler<Event> {
    return this.#handler('open')
  }
  set onopen(handler: Handler<Event>) {
    this.#handle('open', handler)
  }
  get onmessage(): Handler<MessageEvent> {
    return this.#handler('message')
  }
  set onmessage(handler: Handler<MessageEvent>) {
    this.#handle('message', handler)
  }
  // Any event when read: Node's class, which this one is to fit, has an ErrorEvent of its own.
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  get onerror(): Handler<any> {
    return this.#handler('error')
  }
  set onerror(handler: Handler<ErrorEventLike>) {
    this.#handle('error', handler)
  }

  #handler<OnEvent extends Event>(type: string): Handler<OnEvent> {
    return (this.#handlers.get(type)?.handler as Handler<OnEvent> | undefined) ?? null
  }

  /** [HTML] 8.1.8.1: a handler keeps its place among the listeners until it is set to null. */
  #handle(type: string, handler: unknown): void {
    const known = this.#handlers.get(type)
    if (typeof handler !== 'function') {
      if (known !== undefined) super.removeEventListener(type, known.listener)
      this.#handlers.delete(type)
    } else if (known !== undefined) {
      known.handler = handler as (event: Event) => unknown
    } else {
      const entry = {
        handler: handler as (event: Event) => unknown,
        listener: (event: Event) => entry.handler.call(this, event),
      }
      this.#handlers.set(type, entry)
      super.addEventListener(type, entry.listener)
    }
  }

  get [Symbol.toStringTag](): string {
    return 'EventSource'
  }
}

for (const [value, name] of ['CONNECTING', 'OPEN', 'CLOSED'].entries()) {
  for (const holder of [EventSource, EventSource.prototype])
    Object.defineProperty(holder, name, { value, enumerable: true })
}
// Bundlers rename classes.
Object.defineProperty(EventSource, 'name', { value: 'EventSource', configurable: true })
// What other libraries look for before they hand over a fetch.
Object.defineProperty(EventSource, Symbol.for('eventsource.supports-fetch-override'), { value: true })
// What Node prints: not the query string, which may hold secrets.
Object.defineProperty(EventSource.prototype, Symbol.for('nodejs.util.inspect.custom'), {
  value(this: EventSource, _depth: number, _options: object, inspect: (value: unknown) => string): string {
    const url = this.url.replace(/[?#].*/s, '')
    return `EventSource ${inspect({ url, readyState: this.readyState, withCredentials: this.withCredentials })}`
  },
})

function resolveUrl(url: string | URL): URL {
  try {
    return new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href)
  } catch {
    // Not repeated: it may hold secrets.
    throw new DOMException('url: not a URL', 'SyntaxError')
  }
}

/** The same class, under the name that polyfills have. */
export { EventSource as EventSourcePolyfill }
