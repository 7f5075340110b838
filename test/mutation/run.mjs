// npm run test:mutation [-- Stryker options]: changes the code in one place after the other and runs the tests that
// reach it; a change that no test notices survives. Without options it writes report.md. It fails when too many survive.
//
//   npm run test:mutation -- --mutate src/layers/backoff.ts    one file; nothing is written
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { install } from '../install.mjs'
import { readMutants, report, scoreOf } from './report.mjs'

/** Per cent of the mutants that must be noticed, of these files together. */
const LEAST_SCORE = 90
const isGated = ({ file }) => file.startsWith('src/layers/') || file === 'src/outcome.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const json = `${root}.tmp/mutation/report.json`
const options = process.argv.slice(2)

install(here)
rmSync(json, { force: true })
const stryker = `${here}node_modules/@stryker-mutator/core/bin/stryker.js`
const { status, error } = spawnSync(
  process.execPath,
  [stryker, 'run', `${here}stryker.config.json`, ...options],
  {
    cwd: root,
    stdio: 'inherit',
  },
)
if (error) console.error(error.message)
if (status !== 0) process.exit(status ?? 1)

const mutants = readMutants(readFileSync(json, 'utf8'))
const text = report(mutants, readFileSync(`${here}survivors.md`, 'utf8'))
if (options.length === 0) {
  writeFileSync(`${here}report.md`, text)
  spawnSync('npm', ['exec', '--', 'biome', 'format', '--write', `${here}report.md`], { cwd: root })
}
console.log(`\n${text}`)

const gated = mutants.filter(isGated)
if (gated.length > 0) {
  const score = scoreOf(gated)
  const verdict = `src/layers and src/outcome.ts: ${score.toFixed(1)} %, at least ${LEAST_SCORE} %`
  console.log(score < LEAST_SCORE ? `FAILED: ${verdict}` : verdict)
  if (score < LEAST_SCORE) process.exitCode = 1
}
