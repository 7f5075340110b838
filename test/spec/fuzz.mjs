// npm run test:fuzz -- [--runs N] [--seed S] [--path P]: as many runs as wanted; a failure tells how to replay it.
import { parseArgs } from 'node:util'
import { runnerImport } from 'vite'

const RUNS_PER_SEED = 10_000

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100000' },
    seed: { type: 'string' },
    path: { type: 'string' },
  },
})
const runs = Number(values.runs)
const firstSeed = Number(values.seed ?? Date.now() % 2 ** 31)
if (!Number.isInteger(runs) || runs < 1 || !Number.isInteger(firstSeed)) {
  throw new Error('--runs and --seed take whole numbers')
}

const { module } = await runnerImport(new URL('./fuzz.ts', import.meta.url).pathname)
const coverage = module.noCoverage()
const startedAt = performance.now()
for (let done = 0, seed = firstSeed; done < runs; seed++) {
  const part = Math.min(RUNS_PER_SEED, runs - done)
  const failure = await module.fuzz({ runs: part, seed, path: values.path, coverage })
  if (failure !== undefined) {
    console.error(`\n${failure}`)
    process.exit(1)
  }
  done += part
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  process.stdout.write(
    `${process.stdout.isTTY ? '\r' : ''}${done} of ${runs} runs, ${seconds} s${process.stdout.isTTY ? '' : '\n'}`,
  )
  if (values.path !== undefined) break
}
console.log(`\nno difference from seed ${firstSeed} on; in the samples: ${JSON.stringify(coverage)}`)
