import { ResilientSse, SseError } from '../../index.ts'
import { isModern } from './era.ts'
import { closed, Deliveries } from './transport/deliveries.ts'
import {
  type McpTransportOptions,
  resolveTransportOptions,
  type TransportSettings,
} from './transport/options.ts'
import { Outgoing } from './transport/outgoing.ts'
import type { Session } from './transport/session.ts'
import { sessionFetch } from './transport/session-fetch.ts'
import { type Host, Sessions } from './transport/sessions.ts'
import type { OptionsOf, PublicPart, SdkTransport, SendOptions, Sent } from './transport/types.ts'
import { Undelivered } from './transport/undelivered.ts'

/**
 * A transport of the official MCP SDKs, v1 or v2, that outlives the server's sessions: Streamable HTTP, or HTTP+SSE of
 * 2024-11-05. Its streams survive as with `mcpFetch`. When the server has lost the session, it is initialized again, once
 * for all who noticed, what had been set is set again, and messages that were refused are sent again; what may have run is
 * not, and ends in a JSON-RPC error.
 *
 * `mcpTransport(StreamableHTTPClientTransport, url, { authProvider })`
 *
 * @throws SseError `ERR_SSE_OPTION`, naming the option.
 */
export function mcpTransport<C extends new (url: URL, options?: never) => SdkTransport>(
  TransportClass: C,
  url: string | URL,
  options?: OptionsOf<C>,
  resilience: McpTransportOptions = {},
): PublicPart<InstanceType<C>> {
  if (typeof TransportClass !== 'function')
    throw new SseError('ERR_SSE_OPTION', 'TransportClass: not a class')
  const given = (options ?? {}) as GivenOptions
  const settings = resolveTransportOptions(resilience, given.fetch)
  // Its check of the URL, without a stream.
  new ResilientSse(url)
  const target = new URL(url)
  const makeTransport = (session: Session) =>
    new TransportClass(target, optionsFor(session, given, settings) as never)
  const transport = new SurvivingTransport(target, settings, makeTransport)
  return transport as unknown as PublicPart<InstanceType<C>>
}

interface GivenOptions {
  fetch?: typeof globalThis.fetch
  /** HTTP+SSE of 2024-11-05: its `fetch` takes precedence for the stream. */
  eventSourceInit?: { fetch?: typeof globalThis.fetch }
}

/** The options of one session's transport: the host's own, with our fetch on top of theirs. */
function optionsFor(
  session: Session,
  given: GivenOptions,
  { settings, settingsOver }: TransportSettings,
): object {
  const own = { ...given, fetch: sessionFetch(settings, session) }
  if (given.eventSourceInit?.fetch !== undefined) {
    const fetch = sessionFetch(settingsOver(given.eventSourceInit.fetch), session)
    own.eventSourceInit = { ...given.eventSourceInit, fetch }
  }
  // What the host had resumed is no part of another session.
  return session.isFirst ? own : { ...own, sessionId: undefined, protocolVersion: undefined }
}

/** The transport that the SDK's client is given. */
class SurvivingTransport implements Host {
  onclose: (() => void) | undefined
  onerror: ((error: Error) => void) | undefined
  onmessage: ((message: Sent, extra?: unknown) => void) | undefined
  readonly #sessions: Sessions
  readonly #deliveries: Deliveries
  #isStarted = false
  #isClosed = false

  constructor(url: URL, settings: TransportSettings, makeTransport: (session: Session) => SdkTransport) {
    this.#sessions = new Sessions(url, settings, makeTransport, this)
    this.#deliveries = new Deliveries(url, settings.settings, this.#sessions)
    this.#passOn()
  }

  async start(): Promise<void> {
    const isFirst = !this.#isStarted
    this.#isStarted = true
    try {
      await this.#sessions.latest.start()
    } catch (error) {
      // Else the stream of 2024-11-05 would be tried again for ever, for nobody.
      if (isFirst) this.#sessions.close()
      throw error
    }
  }

  /** Resolves when the server has taken the message; a call that it cannot be given is answered with -32000. */
  async send(message: Sent, options?: SendOptions): Promise<void> {
    if (this.#isClosed) throw closed()
    const messages = [message].flat()
    const [first] = messages
    if (first?.method === 'initialize') this.#sessions.remembered.initialize = first
    if (first?.method === 'initialize' || isModern(messages) || !this.#sessions.isEstablished)
      return this.#sendPlain(message, options)
    if (first?.method === 'notifications/cancelled' && !this.#deliveries.cancel(first)) return
    return this.#deliveries.deliver(new Outgoing(message, options))
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#deliveries.close()
    this.#sessions.close()
    this.onclose?.()
  }

  get sessionId(): string | undefined {
    return this.#sessions.latest.inner.sessionId
  }

  setProtocolVersion(version: string): void {
    this.#sessions.latest.inner.setProtocolVersion?.(version)
  }

  /** v2 tells which versions it speaks. */
  setSupportedProtocolVersions(versions: string[]): void {
    this.#sessions.remembered.versions = versions
  }

  tellMessage(message: Sent, extra?: unknown): void {
    this.onmessage?.(message, extra)
  }

  tellError(error: Error): void {
    this.onerror?.(error)
  }

  /** As the SDK alone would. */
  async #sendPlain(message: Sent, options: SendOptions | undefined): Promise<void> {
    try {
      await this.#sessions.latest.send(message, options)
    } catch (error) {
      if (!(error instanceof Undelivered)) throw error
      this.tellError(error.cause as Error)
      throw error.cause
    }
  }

  /** What one class of transports has beside the rest (`finishAuth`, `terminateSession`, `resumeStream` …). */
  #passOn(): void {
    const inner = () => this.#sessions.latest.inner
    for (let link: object = inner(); link !== Object.prototype; link = Object.getPrototypeOf(link))
      for (const name of Object.getOwnPropertyNames(link)) {
        if (name.startsWith('_') || name in this) continue
        const get = () => {
          const member: unknown = Reflect.get(inner(), name)
          return typeof member === 'function' ? member.bind(inner()) : member
        }
        Object.defineProperty(this, name, { configurable: true, enumerable: false, get })
      }
  }
}
