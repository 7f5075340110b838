import { SseError } from '../../../src/index.ts'
import type { Life } from '../history.ts'
import type { Case, Report } from '../oracle.ts'

/** Every stream comes to its end, in time, and what it throws has a name. */
export function lawOfEnds({ history }: Case, report: Report): void {
  if (history.outcome !== 'over') {
    const { length } = history.lives
    report(
      'no hanging',
      `life ${length} was still at it after ${Math.round(history.endedAt)} ms (${history.outcome})`,
    )
  }
  for (const life of history.lives) {
    if (life.end?.how === 'error') checkError(life, report)
  }
}

function checkError({ nr, end }: Life, report: Report): void {
  const error = end?.error
  if (!(error instanceof SseError) || !/^ERR_SSE_[A-Z_]+$/.test(error.code)) {
    report('typed errors', `life ${nr} ended with ${String((error as Error)?.stack ?? error)}`)
  }
}
