import type { Observed } from './client.process.ts'
import { COUNT } from './faults.ts'

/** What became of one stream after one fault. */
export interface Verdict {
  /** It went on, it waits for ever, or it told that it is over. */
  end: 'recovered' | 'hung' | 'gave up'
  lost: number
  doubled: number
  /** With other data than were sent; no fault of the recovery. */
  altered: number
  /** Milliseconds from the fault until the client told of it; none if it never did. */
  noticedMs?: number
  /** Until the next event that was new. */
  recoveredMs?: number
  dials: number
}

export function judge(
  { received, altered, troubleAt, ended }: Observed,
  { struckAt, dials }: { struckAt: number; dials: number },
): Verdict {
  const seen = new Set<number>()
  let doubled = 0
  let recoveredAt: number | undefined
  for (const [index, at] of received) {
    if (seen.has(index)) doubled++
    else if (at >= struckAt && seen.size > 0 && dials > 1) recoveredAt ??= at
    seen.add(index)
  }
  const reachedEnd = seen.has(COUNT - 1)
  const noticedAt = troubleAt.find(at => at >= struckAt - CLOCK_MS)
  return {
    end: reachedEnd ? 'recovered' : ended ? 'gave up' : 'hung',
    lost: COUNT - seen.size,
    doubled,
    altered,
    dials,
    ...(noticedAt !== undefined && { noticedMs: Math.max(0, noticedAt - struckAt) }),
    ...(reachedEnd && recoveredAt !== undefined && { recoveredMs: recoveredAt - struckAt }),
  }
}

/** How far the clocks of two processes may be apart. */
const CLOCK_MS = 5
