import { SseError } from '../../errors.ts'
import type { ResolvedHeartbeat } from '../../layers/heartbeat.ts'
import type { ResilientSseOptions } from '../../options.ts'

const NOT_HERE = {
  method: 'each request has its own',
  headers: 'each request has its own',
  body: 'each request has its own',
  signal: 'each request has its own',
  dispatcher: 'give it with the request, or bind it to a fetch and give that',
  maxConnectionMs: 'a request other than GET could not go on',
  reconnectOnEnd: 'what a clean end means is for the client to say',
  isRetryable: 'what is not a stream is for the client to judge',
  onComment: 'the client that reads the body sees the comments',
} as const satisfies Partial<Record<keyof ResilientSseOptions, string>>

const NOT_OF_RESUME = {
  store: 'each request has its own cursor',
  lastEventId: 'each request has its own cursor',
  ack: 'nothing is stored',
} as const

export type NotHere = keyof typeof NOT_HERE

/** @throws SseError `ERR_SSE_OPTION` for what a stream has and a fetch cannot heed. */
export function checkOptionsOf(options: ResilientSseOptions): void {
  refuseGiven(options, NOT_HERE, '')
  refuseGiven(options?.resume, NOT_OF_RESUME, 'resume.')
}

function refuseGiven(given: unknown, refused: Record<string, string>, group: string): void {
  for (const [name, why] of Object.entries(refused)) {
    // What is no object at all is refused elsewhere.
    if (Object(given)[name] === undefined) continue
    throw new SseError('ERR_SSE_OPTION', `${group}${name}: cannot take effect here; ${why}`)
  }
}

/** undici's own limit on silence in a body. */
const UNDICI_BODY_TIMEOUT_MS = 300_000

/**
 * How long undici lets a body be silent that may turn out to be a stream: no shorter than layer 2, whose word counts, and 0,
 * for ever, when that is off. Clients ask for streams with `Accept: application/json`, and the limit is set before the
 * answer is known.
 */
export function streamSilenceMs(heartbeat: ResolvedHeartbeat | false): number {
  const timeoutMs = heartbeat ? heartbeat.timeoutMs : 0
  if (timeoutMs === 'auto') return UNDICI_BODY_TIMEOUT_MS
  // Some more, because undici's timer must not win against layer 2's coarse one.
  return typeof timeoutMs === 'number' && timeoutMs > 0 ? Math.max(UNDICI_BODY_TIMEOUT_MS, 2 * timeoutMs) : 0
}
