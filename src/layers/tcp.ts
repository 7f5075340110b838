import { Socket } from 'node:net'
import { buildConnector, Client, Dispatcher, EnvHttpProxyAgent, Pool, ProxyAgent } from 'undici'
import { SseError } from '../errors.ts'

/** Layer 1: the agent with TCP keepalive. */
export interface TcpOptions {
  /**
   * Idle time before the kernel's first keepalive probe, in milliseconds. 1,000 to 7,200,000. Default 15,000: Node sends
   * 10 probes a second apart, so a dead peer is noticed after 25 s, where undici's own 60 s would take 70.
   */
  keepAliveDelayMs?: number | undefined
  /** Name lookup, TCP connect and TLS handshake together, in milliseconds. 100 to 300,000. Default 10,000. */
  connectTimeoutMs?: number | undefined
  /** Whether requests go out without waiting to fill a segment (TCP_NODELAY). Default true. */
  noDelay?: boolean | undefined
  /** Whether HTTP/2 is offered in TLS. Default false: one lost packet would stall all streams of the connection. */
  allowH2?: boolean | undefined
  /**
   * A forward proxy, or `'env'` for HTTP_PROXY, HTTPS_PROXY and NO_PROXY (also with NODE_USE_ENV_PROXY=1). Keepalive is
   * on at that hop. Default none.
   */
  proxy?: 'env' | string | URL | undefined
  /** More options of `net.connect` and `tls.connect`, such as `ca`, `cert`, `localAddress`, `family`, `socketPath`. */
  connect?: Record<string, unknown> | undefined
}

export const TCP_DEFAULTS = {
  keepAliveDelayMs: 15_000,
  connectTimeoutMs: 10_000,
  noDelay: true,
  allowH2: false,
} as const satisfies TcpOptions

export type ResolvedTcp = Pick<TcpOptions, 'proxy' | 'connect'> & {
  [Name in keyof typeof TCP_DEFAULTS]: Exclude<TcpOptions[Name], undefined>
}

/** An undici 8 dispatcher fails in undici 7's fetch, and only when the first request is sent: refused here. */
export function checkDispatcher(dispatcher: unknown): asserts dispatcher is Dispatcher {
  if (dispatcher instanceof Dispatcher) return
  throw new SseError(
    'ERR_SSE_OPTION',
    'dispatcher: not a dispatcher of undici 7; make it from the Agent, ProxyAgent or Dispatcher that resilient-sse exports',
  )
}

type Connector = buildConnector.connector

/** TLS sessions are kept by the connector: streams with the same plain options share one. */
const connectors = new Map<string, Connector>()

/**
 * What one dial connects with. Of its own, because undici can neither give up a connect that is under way nor leave an
 * aborted request alone (it dials for it once more): only by destroying the whole agent does nothing stay behind. So each
 * dial also has a socket and a name lookup of its own, and cannot meet the path that just failed.
 */
export class DialAgent {
  readonly #tcp: ResolvedTcp | false
  readonly #dispatchers: Dispatcher[] = []
  readonly #sockets: Socket[] = []

  constructor(tcp: ResolvedTcp | false) {
    this.#tcp = tcp
  }

  /** The dispatcher for a request to this origin: the next hop of a redirect has its own. */
  for(origin: URL | string): Dispatcher {
    const dispatcher = this.#create(origin)
    this.#dispatchers.push(dispatcher)
    return dispatcher
  }

  /** Nothing stays behind: no socket, connected or not, no session, no request that waits. */
  destroy(): void {
    const reason = new Error('the dial is over')
    for (const dispatcher of this.#dispatchers) dispatcher.destroy(reason).catch(() => {})
    for (const socket of this.#sockets) socket.destroy(reason)
  }

  #create(origin: URL | string): Dispatcher {
    const hop = hopOptions(this.#tcp)
    const common = {
      pipelining: 0,
      // undici's 300 s would kill every quiet stream; layer 2 judges silence.
      bodyTimeout: 0,
      headersTimeout: 0,
      allowH2: this.#tcp !== false && this.#tcp.allowH2,
      // undici overrules the connector's own.
      ...('localAddress' in hop && { localAddress: String(hop.localAddress) }),
      connect: this.#watched(connectorFor(this.#tcp, hop)),
    }
    const env = process.env.NODE_USE_ENV_PROXY === '1' ? 'env' : undefined
    const proxy = (this.#tcp !== false && this.#tcp.proxy) || env
    // Not an Agent, whose pool would hold 20 KiB for each idle stream.
    if (proxy === undefined) return new Client(origin, common)
    const proxied = {
      ...common,
      proxyTls: hop,
      requestTls: hop,
      clientFactory: (proxyOrigin: URL, { connect }: Pool.Options) =>
        new Pool(proxyOrigin, { connect: this.#watched(connect as Connector) }),
    }
    if (proxy !== 'env') return new ProxyAgent({ ...proxied, uri: String(proxy) } as ProxyAgent.Options)
    try {
      return new EnvHttpProxyAgent(proxied as EnvHttpProxyAgent.Options)
    } catch {
      // undici's own error repeats the URL, and with it a password.
      throw new SseError('ERR_SSE_REQUEST', 'tcp.proxy: HTTP_PROXY or HTTPS_PROXY is not a URL')
    }
  }

  #watched(connect: Connector): Connector {
    return (options, callback) => {
      // The declaration says nothing of it, but the connector gives its socket out while it connects.
      const socket: unknown = connect(options, callback)
      if (socket instanceof Socket) this.#sockets.push(socket)
      return socket as ReturnType<Connector>
    }
  }
}

function hopOptions(options: ResolvedTcp | false): buildConnector.BuildOptions {
  const tcp = options || TCP_DEFAULTS
  return {
    keepAlive: options !== false,
    keepAliveInitialDelay: tcp.keepAliveDelayMs,
    timeout: tcp.connectTimeoutMs,
    allowH2: tcp.allowH2,
    ...(options === false ? undefined : options.connect),
  } as buildConnector.BuildOptions
}

function connectorFor(options: ResolvedTcp | false, hop: buildConnector.BuildOptions): Connector {
  if (options && options.connect !== undefined) return createConnector(options, hop)
  const key = JSON.stringify(options)
  const connector = connectors.get(key) ?? createConnector(options, hop)
  connectors.set(key, connector)
  return connector
}

function createConnector(options: ResolvedTcp | false, hop: buildConnector.BuildOptions): Connector {
  const connect = buildConnector(hop)
  if (options === false || options.noDelay) return connect
  // undici always sets TCP_NODELAY.
  return (target, callback) =>
    connect(target, (...result) => {
      result[1]?.setNoDelay(false)
      callback(...result)
    })
}
