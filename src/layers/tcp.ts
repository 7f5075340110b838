import { Agent, buildConnector, Dispatcher, EnvHttpProxyAgent, ProxyAgent } from 'undici'
import { SseError } from '../errors.ts'

/** Layer 1: the agent with TCP keepalive. */
export interface TcpOptions {
  /**
   * Idle time before the kernel's first keepalive probe, in milliseconds. 1,000 to 7,200,000. Default 15,000: Node sends
   * 10 probes a second apart, so a dead peer is noticed after 25 s, where undici's own 60 s would take 70.
   */
  keepAliveDelayMs?: number
  /** Name lookup, TCP connect and TLS handshake together, in milliseconds. 100 to 300,000. Default 10,000. */
  connectTimeoutMs?: number
  /** Whether requests go out without waiting to fill a segment (TCP_NODELAY). Default true. */
  noDelay?: boolean
  /** Whether HTTP/2 is offered in TLS. Default false: one lost packet would stall all streams of the connection. */
  allowH2?: boolean
  /**
   * A forward proxy, or `'env'` for HTTP_PROXY, HTTPS_PROXY and NO_PROXY (also with NODE_USE_ENV_PROXY=1). Keepalive is
   * on at that hop. Default none.
   */
  proxy?: 'env' | string | URL
  /** More options of `net.connect` and `tls.connect`, such as `ca`, `cert`, `localAddress`, `family`, `socketPath`. */
  connect?: Record<string, unknown>
}

export const TCP_DEFAULTS = {
  keepAliveDelayMs: 15_000,
  connectTimeoutMs: 10_000,
  noDelay: true,
  allowH2: false,
} as const satisfies TcpOptions

export type ResolvedTcp = TcpOptions & Required<Pick<TcpOptions, keyof typeof TCP_DEFAULTS>>

type AgentOptions = ResolvedTcp & { keepAlive?: boolean }

const agents = new Map<string, Dispatcher>()

/** An undici 8 dispatcher fails in undici 7's fetch, and only when the first request is sent: refused here. */
export function checkDispatcher(dispatcher: unknown): asserts dispatcher is Dispatcher {
  if (dispatcher instanceof Dispatcher) return
  throw new SseError(
    'ERR_SSE_OPTION',
    'dispatcher: not a dispatcher of undici 7; make it from the Agent, ProxyAgent or Dispatcher that resilient-sse exports',
  )
}

/** The agent for these options; streams with the same plain ones share it. `false`: no keepalive. */
export function agentFor(options: ResolvedTcp | false): Dispatcher {
  const tcp: AgentOptions = options || { ...TCP_DEFAULTS, keepAlive: false }
  const proxy = tcp.proxy ?? (process.env.NODE_USE_ENV_PROXY === '1' ? 'env' : undefined)
  if (tcp.connect !== undefined) return createAgent(tcp, proxy)
  const key = JSON.stringify({ ...tcp, proxy: String(proxy) })
  const agent = agents.get(key) ?? createAgent(tcp, proxy)
  agents.set(key, agent)
  return agent
}

function createAgent(tcp: AgentOptions, proxy: string | URL | undefined): Dispatcher {
  const hop = {
    keepAlive: tcp.keepAlive ?? true,
    keepAliveInitialDelay: tcp.keepAliveDelayMs,
    timeout: tcp.connectTimeoutMs,
    allowH2: tcp.allowH2,
    ...tcp.connect,
  } as buildConnector.BuildOptions
  const common = {
    // Each dial gets a socket and a name lookup of its own: a reconnect must not meet the path that just failed.
    pipelining: 0,
    // undici's 300 s would kill every quiet stream; layer 2 judges silence.
    bodyTimeout: 0,
    headersTimeout: 0,
    allowH2: tcp.allowH2,
    // undici overrules the connector's own.
    ...(tcp.connect?.localAddress !== undefined && { localAddress: String(tcp.connect.localAddress) }),
  }
  if (proxy === undefined) return new Agent({ ...common, connect: tcp.noDelay ? hop : withoutNoDelay(hop) })
  const tls = { proxyTls: hop, requestTls: hop, connect: hop }
  return proxy === 'env'
    ? new EnvHttpProxyAgent({ ...common, ...tls } as EnvHttpProxyAgent.Options)
    : new ProxyAgent({ ...common, ...tls, uri: String(proxy) } as ProxyAgent.Options)
}

/** undici always sets TCP_NODELAY. */
function withoutNoDelay(hop: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(hop)
  return (options, callback) =>
    connect(options, (...result) => {
      result[1]?.setNoDelay(false)
      callback(...result)
    })
}
