import { Agent, buildConnector, Client, Dispatcher, EnvHttpProxyAgent, Pool, ProxyAgent } from 'undici'
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

export type Connector = buildConnector.connector

/** TLS sessions are kept by the connector: streams with the same plain options share one. */
const connectors = new Map<string, Connector>()

/** Wraps a connector, to learn of the sockets that it makes. */
type Watch = (connect: Connector) => Connector

/** The dispatcher of one dial to this origin. Not an Agent, whose pool would hold 20 KiB for each idle stream. */
export function dialDispatcher(tcp: ResolvedTcp | false, origin: URL | string, watch: Watch): Dispatcher {
  // undici's 300 s would kill every quiet stream; layer 2 judges silence.
  const own = { pipelining: 0, bodyTimeout: 0, headersTimeout: 0 }
  return dispatcherOf(tcp, own, watch, options => new Client(origin, options))
}

/** A dispatcher for many requests, which keeps idle connections for the next ones and has undici's own timeouts. */
export function pooledDispatcher(tcp: ResolvedTcp | false): Dispatcher {
  return dispatcherOf(
    tcp,
    {},
    connect => connect,
    options => new Agent(options),
  )
}

function dispatcherOf(
  tcp: ResolvedTcp | false,
  own: object,
  watch: Watch,
  direct: (options: Client.Options) => Dispatcher,
): Dispatcher {
  const hop = hopOptions(tcp)
  const env = process.env.NODE_USE_ENV_PROXY === '1' ? 'env' : undefined
  const { allowH2, proxy = env }: ResolvedTcp = tcp || TCP_DEFAULTS
  const common = {
    ...own,
    allowH2,
    // undici overrules the connector's own.
    ...('localAddress' in hop && { localAddress: String(hop.localAddress) }),
    connect: watch(connectorFor(tcp, hop)),
  }
  if (proxy === undefined) return direct(common)
  const proxied = {
    ...common,
    proxyTls: hop,
    requestTls: hop,
    clientFactory: (proxyOrigin: URL, { connect }: Pool.Options) =>
      new Pool(proxyOrigin, { connect: watch(connect as Connector) }),
  }
  if (proxy !== 'env') return new ProxyAgent({ ...proxied, uri: String(proxy) } as ProxyAgent.Options)
  try {
    return new EnvHttpProxyAgent(proxied as EnvHttpProxyAgent.Options)
  } catch {
    // undici's own error repeats the URL, and with it a password.
    throw new SseError('ERR_SSE_REQUEST', 'tcp.proxy: HTTP_PROXY or HTTPS_PROXY is not a URL')
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
  // Without the proxy, which changes nothing here, and whose password must not be kept.
  const key = JSON.stringify(options && { ...options, proxy: undefined })
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
