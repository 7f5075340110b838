import { Breaker } from '../../src/layers/breaker.ts'
import type { ResilientSseOptions } from '../../src/options.ts'
import type { Schedule } from './schedule.ts'

/** The breaker that streams of a simulation share, when they do. */
export const SHARED_BREAKER = { threshold: 4, cooldownMs: 20_000, onOpen: 'wait' } as const

export function sharedBreaker(schedule: Schedule): Breaker | undefined {
  return schedule.options.breaker === 'shared' ? new Breaker(SHARED_BREAKER) : undefined
}

/**
 * The options of one stream. What belongs to the world (fetch, signal, store, listeners) is added there. `sawGap`: a
 * gap has ended a stream before. Whoever starts over has dealt with it, and would meet the same one for ever.
 */
export function optionsOf(
  { options, log }: Schedule,
  shared: Breaker | undefined,
  sawGap: boolean,
): ResilientSseOptions {
  const { heartbeat, dedupe, breaker, backoff } = options
  return {
    openTimeoutMs: options.openTimeoutMs,
    maxConnectionMs: options.maxConnectionMs,
    reconnectOnEnd: options.reconnectOnEnd,
    heartbeat: heartbeat === 'off' ? false : { timeoutMs: heartbeat },
    dedupe: dedupe === 'off' ? false : dedupe,
    breaker: breaker === 'off' ? false : breaker === 'shared' ? (shared as Breaker) : breaker,
    backoff: backoff === 'off' ? false : backoff,
    resume:
      options.resume === 'off'
        ? false
        : {
            onGap: sawGap ? 'report' : options.resume.onGap,
            ...(options.resume.isNext && log.ids === 'decimal' && { isNext: 'decimal' as const }),
          },
  }
}
