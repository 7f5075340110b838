import type { Schedule } from './schedule.ts'

const HOUR_MS = 3_600_000

/**
 * When everything has to be over. A dial takes at most the open timeout (which doubles up to 5 minutes), then the
 * connection its script and the watchdog's patience, then the wait before the next one: the server's own wish (an hour
 * at most, jittered by as much) or the breaker's cooldown (5 minutes and a quarter).
 */
export function deadlineOf({ legs, disturbances, consumer, log, options, store }: Schedule): number {
  const scripts = legs.map(leg => {
    if (leg.do !== 'stream') return leg.do === 'hang' ? 0 : leg.delayMs
    return leg.delayMs + leg.writes.reduce((sum, { afterMs }) => sum + afterMs, 0) + leg.endAfterMs
  })
  const longest = Math.max(0, ...scripts)
  const dial = Math.max(options.openTimeoutMs, 300_000) + 2 * HOUR_MS + 400_000 + 2 * longest + 600_000
  const jumps = disturbances.reduce((sum, { ms }) => sum + ms, 0)
  const work = Math.max(...consumer.workMs, 0) * 10 * (log.entries.length + 1)
  const saves = (store?.saves ?? []).reduce((sum, { ms }) => sum + ms, store?.loadMs ?? 0)
  const lives = legs.length + disturbances.length + consumer.acts.length + (store?.failingLoads ?? 0) + 2
  const scripted = scripts.reduce((sum, ms) => sum + ms, 0)
  return (
    scripted +
    lives * (dial + consumer.restartMs + saves + 20_000) +
    jumps +
    work +
    log.everyMs * log.entries.length
  )
}
