import { mcpFetch } from './fetch.ts'
import type { McpFetchOptions } from './options.ts'
import type { OptionsOf, PublicPart, SdkTransport, SendOptions, Sent } from './transport-types.ts'

export interface McpTransportOptions extends Omit<McpFetchOptions, 'fetch'> {}

/**
 * A transport of the official MCP SDKs, v1 or v2, whose streams survive as with `mcpFetch`.
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
  const given = options as { fetch?: typeof globalThis.fetch } | undefined
  const fetch = mcpFetch({ ...resilience, fetch: given?.fetch })
  const inner = new TransportClass(new URL(url), { ...given, fetch } as never)
  const transport = new SurvivingTransport(inner)
  passOn(transport, inner)
  return transport as unknown as PublicPart<InstanceType<C>>
}

/** The transport that the SDK's client is given. */
class SurvivingTransport {
  onclose: (() => void) | undefined
  onerror: ((error: Error) => void) | undefined
  onmessage: ((message: Sent, extra?: unknown) => void) | undefined
  readonly #inner: SdkTransport

  constructor(inner: SdkTransport) {
    this.#inner = inner
    inner.onclose = () => this.onclose?.()
    inner.onerror = error => this.onerror?.(error)
    inner.onmessage = (message: Sent, extra?: unknown) => this.onmessage?.(message, extra)
  }

  start(): Promise<void> {
    return this.#inner.start()
  }

  send(message: Sent, options?: SendOptions): Promise<void> {
    return this.#inner.send(message as never, options as never)
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version)
  }
}

/** What one class of transports has beside the rest (`finishAuth`, `terminateSession`, `resumeStream` …) stays in reach. */
function passOn(transport: object, inner: SdkTransport): void {
  for (let link: object = inner; link !== Object.prototype; link = Object.getPrototypeOf(link))
    for (const name of Object.getOwnPropertyNames(link)) {
      if (name.startsWith('_') || name in transport) continue
      const member = Reflect.get(inner, name)
      Object.defineProperty(transport, name, {
        configurable: true,
        get: () => (typeof member === 'function' ? member.bind(inner) : Reflect.get(inner, name)),
      })
    }
}
