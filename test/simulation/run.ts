import fc from 'fast-check'
import { schedules } from './arbitrary.ts'
import { Coverage } from './coverage.ts'
import type { Violation } from './history.ts'
import { judge } from './oracle.ts'
import type { Schedule } from './schedule.ts'
import { World } from './world.ts'

export interface RunResult {
  runs: number
  coverage: Coverage
  failure:
    | { seed: number; path: string; schedule: Schedule; violations: Violation[]; runs: number }
    | undefined
}

/** Plays one schedule and judges it. */
export async function simulate(
  schedule: Schedule,
  coverage?: Coverage,
): Promise<{ violations: Violation[]; world: World }> {
  const world = new World(schedule, coverage)
  const history = await world.play()
  return { violations: judge({ schedule, entries: world.entries, history }), world }
}

/** How long a failure is made smaller. */
const SHRINKING_MS = 20_000

/** Plays `runs` random schedules, and shrinks the first that breaks a law. */
export async function runMany(
  { runs, seed, path, shrink }: { runs: number; seed: number; path?: string | undefined; shrink: boolean },
  onProgress: (done: number) => void,
): Promise<RunResult> {
  const coverage = new Coverage()
  let done = 0
  let violations: Violation[] = []
  let failedAt = Number.POSITIVE_INFINITY
  const property = fc.asyncProperty(schedules, async schedule => {
    // While a failure is made smaller nothing is counted.
    const counting = violations.length === 0
    if (Date.now() > failedAt + SHRINKING_MS) return
    if (counting) coverage.begin()
    const judged = await simulate(schedule, counting ? coverage : undefined)
    if (counting) coverage.end()
    if (++done % 50 === 0) onProgress(done)
    if (judged.violations.length === 0) return
    failedAt = Math.min(failedAt, Date.now())
    violations = judged.violations
    throw new Error('a law is broken')
  })
  const details = await fc.check(property, {
    numRuns: runs,
    seed,
    ...(path !== undefined && { path }),
    endOnFailure: !shrink,
  })
  if (!details.failed) return { runs: details.numRuns, coverage, failure: undefined }
  const [schedule] = details.counterexample as [Schedule]
  const again = await simulate(schedule)
  return {
    runs: details.numRuns,
    coverage,
    failure: {
      seed: details.seed,
      path: details.counterexamplePath as string,
      schedule,
      violations: again.violations,
      runs: details.numRuns,
    },
  }
}
