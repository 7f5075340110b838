// npm run test:browser [-- vitest arguments]: builds the package, installs what drives Chromium when it is missing, then
// runs the tests in it. CHROMIUM names another executable than the system's.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { install } from '../install.mjs'
import { CHROMIUM } from './executable.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (error) console.error(error.message)
  if (status !== 0) process.exit(status ?? 1)
}

if (!existsSync(CHROMIUM)) {
  console.error(
    `test:browser: no Chromium at ${CHROMIUM}; install one (Debian: apt-get install chromium) or set CHROMIUM`,
  )
  process.exit(1)
}
install(here)
run('npm', ['run', '--silent', 'build'])
const bin = name => `${root}node_modules/${name}`
run(process.execPath, [bin('typescript/bin/tsc'), '--noEmit', '-p', here])
run(process.execPath, [
  bin('vitest/vitest.mjs'),
  'run',
  '--config',
  `${here}vitest.config.ts`,
  ...process.argv.slice(2),
])
