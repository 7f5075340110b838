import {
  type BackoffOptions,
  type Breaker,
  type BreakerOptions,
  type DedupeOptions,
  type HeartbeatOptions,
  keepaliveFetch,
  type LifecycleEvent,
  ResilientSse,
  SseError,
  type TcpOptions,
} from '../../index.ts'
import type { DiscoverChange, DiscoverStore } from './discovery.ts'
import type { RequestId } from './messages.ts'
import { againWhenStale } from './stale.ts'

/** The stream that a lifecycle event is about. */
export interface McpStream {
  /**
   * `request`: the answer to one POST. `standalone`: what the server sends on its own account (GET). `session`
   * (`mcpTransport`): the sessions that follow one that was lost; a dial is an `initialize`.
   */
  readonly kind: 'request' | 'standalone' | 'session'
  /** The JSON-RPC ids that the request wants answered. */
  readonly ids: readonly RequestId[]
  /** The methods of these requests. */
  readonly methods: readonly string[]
  /** The session, when there is one. */
  readonly sessionId: string | undefined
}

export interface McpFetchOptions {
  /** Another fetch below this one. Default `keepaliveFetch(tcp)`. */
  fetch?: typeof globalThis.fetch | undefined
  /** Layer 1, of the default fetch. */
  tcp?: TcpOptions | false | undefined
  /** Layer 2. Default `{ timeoutMs: 'auto' }`. */
  heartbeat?: HeartbeatOptions | false | undefined
  /** Layer 4. `maxAttempts` (default 7) bounds how often in a row a call is resumed without an event. */
  backoff?: BackoffOptions | undefined
  /** Layer 4, for standalone streams: calls end by `backoff.maxAttempts`. */
  breaker?: BreakerOptions | Breaker | false | undefined
  /** Layer 5. An event is replayed when its id and its data are those of one that was delivered. */
  dedupe?: Pick<DedupeOptions, 'capacity'> | false | undefined
  /** From a resume to its headers, in milliseconds. Default 30,000. A POST has no limit but its caller's. */
  openTimeoutMs?: number | undefined
  /** The largest event, in characters. Default 16,777,216. */
  maxEventChars?: number | undefined
  /** Passes event ids on to the SDK, for hosts that keep them (`onresumptiontoken`). Default false. */
  forwardEventIds?: boolean | undefined
  /**
   * 2026-07-28 only, where a lost answer cannot be resumed: whether a tool of this name may be called a second time. For
   * tools that are declared `readOnlyHint` or `idempotentHint`. Default none: the call ends in an error.
   */
  resendTool?: ((name: string) => boolean) | undefined
  /**
   * 2026-07-28 only: where the server's `DiscoverResult` is kept, by its URL. A client whose server is known there enters
   * without a round trip; when its first call is refused as if the server were another one, the server is asked after all.
   * A `Map` will do. Results age where the store lets them. One store for each user: servers may tell users apart.
   * What the store throws, and what is no such result, counts as nothing kept. Default none: each client asks as it connects.
   */
  discoverStore?: DiscoverStore | undefined
  /** With `discoverStore`: the server is no longer what the client had entered with. What it throws is ignored. */
  onDiscover?: ((change: DiscoverChange) => void) | undefined
  /** Everything that happens to the streams; see docs/lifecycle.md. What it throws is ignored. */
  onLifecycle?: ((event: LifecycleEvent, stream: McpStream) => void) | undefined
}

/** Options with defaults. */
export interface McpSettings
  extends Omit<McpFetchOptions, 'fetch' | 'tcp' | 'backoff' | 'onLifecycle' | 'onDiscover'> {
  /** For what the SDK sends. */
  fetch: typeof globalThis.fetch
  /** For streams that the SDK opens by GET. */
  openStream: typeof globalThis.fetch
  /** For streams that are resumed. */
  resume: typeof globalThis.fetch
  backoff: BackoffOptions & { maxAttempts: number }
  forwardEventIds: boolean
  tell: (event: LifecycleEvent, stream: McpStream) => unknown
  tellDiscover: (change: DiscoverChange) => void
}

/** Seven waits of at most 0.5 to 16 s: a call is given up before the 60 s of the SDKs' own timeout. */
const MAX_ATTEMPTS = 7

const KNOWN: readonly string[] = [
  'fetch',
  'tcp',
  'heartbeat',
  'backoff',
  'breaker',
  'dedupe',
  'openTimeoutMs',
  'maxEventChars',
  'forwardEventIds',
  'resendTool',
  'discoverStore',
  'onDiscover',
  'onLifecycle',
] satisfies (keyof McpFetchOptions)[]

export function resolveMcpOptions(given: McpFetchOptions): McpSettings {
  check(given)
  const { fetch: custom, tcp, backoff, forwardEventIds = false, onLifecycle, onDiscover, ...rest } = given
  // A kept connection for the standalone stream: on one of its own it would be overtaken by the calls after it, and a
  // server could take it for a resume. A resume has its own: what it meets must not be the path that just failed.
  const fetch = custom ?? keepaliveFetch(tcp, { streams: 'pooled' })
  const resume = custom ? againWhenStale(custom, custom) : keepaliveFetch(tcp)
  return {
    ...rest,
    fetch,
    openStream: againWhenStale(fetch, resume),
    resume,
    backoff: { retry: 'exact', ...backoff, maxAttempts: backoff?.maxAttempts ?? MAX_ATTEMPTS },
    forwardEventIds,
    tell: (event, stream) => {
      try {
        return onLifecycle?.(event, stream)
      } catch {
        // A listener cannot hurt a stream.
      }
    },
    tellDiscover: change => {
      try {
        const told: unknown = onDiscover?.(change)
        Promise.resolve(told).catch(() => {})
      } catch {
        // Nor a call.
      }
    },
  }
}

/** @throws SseError `ERR_SSE_OPTION`, naming the option. */
function check(given: McpFetchOptions): void {
  const refuse = (name: string, why: string) => {
    throw new SseError('ERR_SSE_OPTION', `${name}: ${why}`)
  }
  if (typeof given !== 'object' || given === null) refuse('options', 'not an object')
  for (const name of Object.keys(given))
    if (!KNOWN.includes(name)) refuse(name, `not an option; there are ${KNOWN.join(', ')}`)
  const { fetch, tcp, heartbeat, backoff, breaker, dedupe, openTimeoutMs, maxEventChars } = given
  if (dedupe && 'by' in dedupe) refuse('dedupe.by', "cannot take effect here; it is always 'id+data'")
  for (const name of ['resendTool', 'onDiscover', 'onLifecycle'] as const)
    if (given[name] !== undefined && typeof given[name] !== 'function') refuse(name, 'not a function')
  if (!['boolean', 'undefined'].includes(typeof given.forwardEventIds))
    refuse('forwardEventIds', 'neither true nor false')
  const { discoverStore, onDiscover } = given
  if (discoverStore !== undefined && !isStore(discoverStore))
    refuse('discoverStore', 'has no get, set and delete')
  if (onDiscover !== undefined && discoverStore === undefined)
    refuse('onDiscover', 'cannot take effect without discoverStore')
  // The engine's own checks, without a stream.
  new ResilientSse('http://unused.invalid', {
    fetch,
    tcp,
    heartbeat,
    backoff,
    breaker,
    dedupe,
    openTimeoutMs,
    maxEventChars,
  })
}

function isStore(store: unknown): boolean {
  return (
    typeof store === 'object' &&
    store !== null &&
    ['get', 'set', 'delete'].every(name => typeof Reflect.get(store, name) === 'function')
  )
}
