import { expect, onTestFinished, vi } from 'vitest'
import type { LifecycleEvent, LifecycleType } from '../../src/lifecycle.ts'
import type { ResilientSseOptions, UrlOption } from '../../src/options.ts'
import { ResilientSse } from '../../src/resilient-sse.ts'
import { seeded } from '../random.ts'

export const URL_OF_EVENTS = 'http://server.test/events'

/** One request, as the server of the test saw it. */
export interface Dial {
  /** Counted from 1. */
  nr: number
  /** Virtual milliseconds since the world began. */
  at: number
  url: string
  method: string
  headers: Headers
  body: unknown
  signal: AbortSignal
}

/** An open response that the test writes to, bit by bit. */
export class Body {
  readonly stream: ReadableStream<Uint8Array>
  /** Whether the client gave it up. */
  cancelled = false
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor() {
    this.stream = new ReadableStream({
      start: controller => {
        this.#controller = controller
      },
      cancel: () => {
        this.cancelled = true
      },
    })
  }

  send(text: string): this {
    this.#controller?.enqueue(new TextEncoder().encode(text))
    return this
  }

  /** A clean end. */
  end(): this {
    this.#controller?.close()
    return this
  }

  /** The network breaks; what was sent and not yet read is lost with it, as in fetch. */
  break(code = 'ECONNRESET'): this {
    this.#controller?.error(networkError(code))
    return this
  }

  /** The response; chunked, so that its end can be told from a cut. */
  response(headers: Record<string, string> = {}): Response {
    return new Response(this.stream, {
      headers: { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', ...headers },
    })
  }
}

/** What fetch throws when the network fails. */
export function networkError(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}

/** A stream that stays open after `text`. */
export function open(text = ''): Response {
  const body = new Body()
  if (text !== '') body.send(text)
  return body.response()
}

/** A stream that ends cleanly after `text`. */
export function ended(text = ''): Response {
  const body = new Body()
  if (text !== '') body.send(text)
  return body.end().response()
}

/** A stream that breaks once `text` was read. */
export function broken(text = '', code = 'ECONNRESET'): Response {
  let sent = text === ''
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: controller => {
        if (sent) controller.error(networkError(code))
        else controller.enqueue(new TextEncoder().encode(text))
        sent = true
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, {
    headers: { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' },
  })
}

export function status(code: number, headers: Record<string, string> = {}): Response {
  return new Response(code === 204 || code === 304 ? null : 'x', { status: code, headers })
}

/** The block of one event. */
export function block(id: string | number, data = `data ${id}`): string {
  return `id: ${id}\ndata: ${data}\n\n`
}

/** The blocks of events with these ids, both included. */
export const blocks = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => block(from + index)).join('')

/** No timer may be left once a stream has ended. */
export function expectNothingLeft(): void {
  expect(vi.getTimerCount()).toBe(0)
}

type Answer = (dial: Dial) => Response | Promise<Response>

/** Virtual time, and a server that lives in it. */
export class World {
  readonly dials: Dial[] = []
  readonly #beganAt: number
  readonly #answer: Answer

  /** `answers`: one per dial, the last for all that follow; or a function for each. */
  constructor(answers: Answer | Answer[], seed = 1) {
    this.#answer =
      typeof answers === 'function'
        ? answers
        : dial => (answers[Math.min(dial.nr, answers.length) - 1] as Answer)(dial)
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 31) })
    vi.spyOn(Math, 'random').mockImplementation(seeded(seed))
    onTestFinished(() => {
      vi.useRealTimers()
      vi.restoreAllMocks()
    })
    this.#beganAt = performance.now()
  }

  get now(): number {
    return Math.round(performance.now() - this.#beganAt)
  }

  readonly fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const dial: Dial = {
      nr: this.dials.length + 1,
      at: this.now,
      url: String(input),
      method: init.method ?? 'GET',
      headers: new Headers(init.headers),
      body: init.body,
      signal: init.signal as AbortSignal,
    }
    this.dials.push(dial)
    return this.#answer(dial)
  }

  stream(options: ResilientSseOptions = {}, url: UrlOption = URL_OF_EVENTS): Consumer {
    return new Consumer(this.fetch as typeof fetch, options, url)
  }

  /** Moves the clock, and lets everything happen that is due. */
  async pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms)
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    for (let round = 0; round < 5; round++) await vi.advanceTimersByTimeAsync(0)
  }

  /** Dials in the first `ms`. */
  dialsWithin(ms: number): number {
    return this.dials.filter(({ at }) => at < ms).length
  }

  /** Between one dial and the next. */
  get gaps(): number[] {
    return this.dials.slice(1).map(({ at }, index) => at - (this.dials[index] as Dial).at)
  }

  get lastEventIds(): (string | null)[] {
    return this.dials.map(({ headers }) => headers.get('last-event-id'))
  }
}

/** A stream, the loop over it, and all that it told. */
export class Consumer {
  readonly stream: ResilientSse
  readonly told: LifecycleEvent[] = []
  readonly data: string[] = []
  error: unknown
  over = false

  constructor(fetch: typeof globalThis.fetch, options: ResilientSseOptions, url: UrlOption) {
    this.stream = new ResilientSse(url, {
      fetch,
      ...options,
      onLifecycle: event => {
        this.told.push(event)
        return options.onLifecycle?.(event)
      },
    })
    onTestFinished(() => this.stream.close().catch(() => {}))
  }

  /** Starts the loop. */
  run(handle: (data: string) => unknown = () => {}): this {
    void this.#run(handle)
    return this
  }

  async #run(handle: (data: string) => unknown): Promise<void> {
    try {
      for await (const event of this.stream) {
        this.data.push(event.data)
        await handle(event.data)
      }
    } catch (error) {
      this.error = error
    }
    this.over = true
  }

  tellings<Type extends LifecycleType>(type: Type): Extract<LifecycleEvent, { type: Type }>[] {
    return this.told.filter(event => event.type === type) as Extract<LifecycleEvent, { type: Type }>[]
  }
}
