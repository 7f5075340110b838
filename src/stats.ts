import type { BreakerState } from './layers/breaker.ts'
import { patienceOf, type Rhythm } from './layers/heartbeat.ts'
import type { LifecycleEvent } from './lifecycle.ts'
import type { ResolvedOptions } from './options.ts'

/** Counters since the stream was made, one group a layer. */
export interface SseStats {
  /** Events handed to the consumer or waiting for it, duplicates not counted. */
  events: number
  /** Bytes of response bodies. */
  bytes: number
  tcp: { dials: number; opens: number; drops: number }
  /** `timeoutMs`: the patience in force; 0 is endless. */
  heartbeat: { comments: number; probes: number; deaths: number; timeoutMs: number }
  /** `resumed`: opens that carried Last-Event-ID. `saves`: ids that the store has taken. */
  resume: { resumed: number; gaps: number; saves: number; failedSaves: number }
  /** `failures`: in a row, now. `waitedMs`: the sum of the delays that were chosen. */
  backoff: { failures: number; waits: number; waitedMs: number }
  breaker: { state: BreakerState | 'off'; opens: number }
  /** `ids`: how many are held now. */
  dedupe: { duplicates: number; ids: number }
}

export function createStats(): SseStats {
  return {
    events: 0,
    bytes: 0,
    tcp: { dials: 0, opens: 0, drops: 0 },
    heartbeat: { comments: 0, probes: 0, deaths: 0, timeoutMs: 0 },
    resume: { resumed: 0, gaps: 0, saves: 0, failedSaves: 0 },
    backoff: { failures: 0, waits: 0, waitedMs: 0 },
    breaker: { state: 'off', opens: 0 },
    dedupe: { duplicates: 0, ids: 0 },
  }
}

/** The counters together with what is known only now. */
export function report(
  stats: SseStats,
  { heartbeat, breaker }: ResolvedOptions,
  now: { rhythm: Rhythm; failures: number; ids: number },
): SseStats {
  const timeoutMs = heartbeat === false ? 0 : patienceOf(heartbeat, now.rhythm)
  return {
    ...structuredClone(stats),
    heartbeat: { ...stats.heartbeat, timeoutMs },
    backoff: { ...stats.backoff, failures: now.failures },
    breaker: { ...stats.breaker, state: breaker === false ? 'off' : breaker.state },
    dedupe: { ...stats.dedupe, ids: now.ids },
  }
}

/** Everything but events and bytes, which have no lifecycle event each. */
export function countLifecycle(stats: SseStats, event: LifecycleEvent): void {
  switch (event.type) {
    case 'dial':
      stats.tcp.dials++
      break
    case 'open':
      stats.tcp.opens++
      if (event.resumed) stats.resume.resumed++
      break
    case 'drop':
      stats.tcp.drops++
      break
    case 'wait':
      stats.backoff.waits++
      stats.backoff.waitedMs += event.delayMs
      break
    case 'stall':
      if (event.phase === 'probe') stats.heartbeat.probes++
      if (event.phase === 'dead') stats.heartbeat.deaths++
      break
    case 'gap':
      stats.resume.gaps++
      break
    case 'duplicate':
      stats.dedupe.duplicates += event.count
      break
    case 'circuit':
      if (event.state === 'open') stats.breaker.opens++
      break
    case 'cursor':
      if (event.error === undefined) stats.resume.saves++
      else stats.resume.failedSaves++
      break
    case 'close':
      break
  }
}
