// npm run test:eventsource [-- vitest arguments]: installs the libraries that people come from when they are missing or others, then runs the tests.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { install } from '../../install.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../..', import.meta.url))

install(here)
const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))
const { status, error } = spawnSync(
  process.execPath,
  [vitest, 'run', '--config', `${here}vitest.config.ts`, ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit' },
)
if (error) console.error(error.message)
process.exitCode = status ?? 1
