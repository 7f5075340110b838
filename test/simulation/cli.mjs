import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle, scratchFolder } from './bundle.mjs'
import { reportCoverage } from './coverage-table.mjs'
import { checkMutants, runMutants } from './mutants.mjs'
import { work, workAll } from './workers.mjs'

/** Schedules that one process plays: many enough for its code to get warm. */
const LARGEST_SHARE = 2_000

const USAGE = `The whole client on a virtual clock, against random schedules of faults.

npm run test:simulation -- [--runs 2000] [--seed S] [--workers N]
    S is the day's number by default. A failure is made smaller, told in words, and can be replayed.
npm run test:simulation -- --replay SEED:PATH
npm run test:simulation -- --mutants [NAME…]
    Each patch of test/simulation/mutants breaks the client in one way, and has to be caught.
npm run test:simulation -- --check-mutants
    Only whether they still apply.`

const { values, positionals } = parseArgs({
  options: {
    runs: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 86_400_000)) },
    workers: { type: 'string', default: String(availableParallelism()) },
    replay: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    'check-mutants': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

for (const name of ['runs', 'seed', 'workers']) {
  if (/^\d+$/.test(values[name])) continue
  console.error(`--${name} takes a whole number\n${USAGE}`)
  process.exit(2)
}

if (values.help) console.log(USAGE)
else if (values['check-mutants']) process.exitCode = await checkMutants()
else if (values.mutants) process.exitCode = await runMutants(positionals, Number(values.workers))
else if (values.replay !== undefined) process.exitCode = await replay(values.replay)
else process.exitCode = await simulate(Number(values.runs), Number(values.seed), Number(values.workers))

async function simulate(runs, seed, workers) {
  const file = await bundle(join(scratchFolder(), 'simulation.mjs'))
  const startedAt = Date.now()
  // In shares that do not depend on the machine, so that a seed means the same schedules everywhere.
  const share = Math.min(LARGEST_SHARE, Math.ceil(runs / 2))
  const orders = Array.from({ length: Math.ceil(runs / share) }, (_, index) => ({
    runs: Math.min(share, runs - index * share),
    seed: seed * 1_000 + index,
  }))
  const done = orders.map(() => 0)
  let shownAt = 0
  const results = await workAll(file, orders, workers, (index, count) => {
    done[index] = count
    if (Date.now() - shownAt < (process.stdout.isTTY ? 200 : 10_000)) return
    shownAt = Date.now()
    const total = done.reduce((sum, one) => sum + one, 0)
    const rate = Math.round(total / ((Date.now() - startedAt) / 1_000))
    process.stdout.write(
      `${process.stdout.isTTY ? '\r' : ''}${total} of ${runs} schedules, ${rate} a second${process.stdout.isTTY ? '' : '\n'}`,
    )
  })
  if (process.stdout.isTTY) process.stdout.write('\n')
  const failed = results.map(({ failure }) => failure).find(failure => failure !== undefined)
  if (failed !== undefined) return tellFailure(failed)
  const seconds = (Date.now() - startedAt) / 1_000
  const total = results.reduce((sum, { schedules }) => sum + schedules, 0)
  console.log(
    `${total} schedules kept every law, seed ${seed}, ${seconds.toFixed(1)} s, ${Math.round(total / seconds)} a second`,
  )
  return reportCoverage(results) ? 0 : 1
}

async function replay(which) {
  const [, seed, path] = /^(-?\d+):([\d:]+)$/.exec(which) ?? []
  if (seed === undefined) throw new Error(`--replay: ${which} is not SEED:PATH`)
  const file = await bundle(join(scratchFolder(), 'simulation.mjs'))
  const { failure } = await work(file, { runs: 1, seed: Number(seed), path, shrink: false })
  if (failure !== undefined) return tellFailure(failure)
  console.log('This schedule keeps every law now.')
  return 0
}

function tellFailure({ seed, path, runs, told }) {
  console.log(
    `A law is broken, after ${runs} schedules of seed ${seed}. The smallest schedule that shows it:\n\n${told}\n`,
  )
  console.log(`Again: npm run test:simulation -- --replay ${seed}:${path}`)
  return 1
}
