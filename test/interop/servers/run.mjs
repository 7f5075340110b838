// npm run test:servers [-- vitest arguments]: installs the frameworks when they are missing or others, then runs the tests.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../..', import.meta.url))

/** What npm installed last, less the entries that only this platform leaves out. */
function isInstalled() {
  try {
    const { packages: wanted } = JSON.parse(readFileSync(`${here}package-lock.json`, 'utf8'))
    const { packages: found } = JSON.parse(readFileSync(`${here}node_modules/.package-lock.json`, 'utf8'))
    return Object.entries(wanted).every(
      ([path, { version, optional }]) => path === '' || optional || found[path]?.version === version,
    )
  } catch {
    return false
  }
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (error) console.error(error.message)
  if (status !== 0) process.exit(status ?? 1)
}

if (!isInstalled()) run('npm', ['ci', '--prefix', here, '--no-audit', '--no-fund'])
const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))
run(process.execPath, [vitest, 'run', '--config', `${here}vitest.config.ts`, ...process.argv.slice(2)])
