import { appendFileSync } from 'node:fs'
import { runMany, simulate } from './run.ts'
import { inWords } from './words.ts'

// What a worker process runs, bundled with the sources under test: node main.js '{"runs": 1000, "seed": 1}'. It tells
// its parent how far it is, and in the end its result, one JSON text a line.

const order = JSON.parse(process.argv[2] ?? '{}') as {
  runs: number
  seed: number
  path?: string
  shrink?: boolean
}

function tell(message: object): void {
  // Written at once: nothing may be lost in a pipe when the process ends.
  appendFileSync(1, `${JSON.stringify(message)}\n`)
}

const { runs, coverage, failure } = await runMany({ ...order, shrink: order.shrink ?? true }, done =>
  tell({ done }),
)
let told: string | undefined
if (failure !== undefined) {
  const { violations, world } = await simulate(failure.schedule)
  told = inWords(failure.schedule, world.history, violations)
}
tell({
  result: {
    runs,
    schedules: coverage.schedules,
    withFault: coverage.withFault,
    cells: [...coverage.cells].map(([kind, row]) => [kind, Object.fromEntries(row)]),
    failure: failure && {
      seed: failure.seed,
      path: failure.path,
      runs: failure.runs,
      violations: failure.violations,
      told,
    },
  },
})
