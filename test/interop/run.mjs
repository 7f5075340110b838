import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { install } from '../install.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const vitest = `${root}node_modules/vitest/vitest.mjs`

/** Installs the package in `folder` when something in it is missing or another version, then runs its tests. */
export function installAndTest(folder, args = process.argv.slice(2)) {
  install(folder)
  const { status, error } = spawnSync(
    process.execPath,
    [vitest, 'run', '--config', `${folder}vitest.config.ts`, ...args],
    { cwd: root, stdio: 'inherit' },
  )
  if (error) console.error(error.message)
  process.exitCode = status ?? 1
}
