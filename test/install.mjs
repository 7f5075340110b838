// Packages of their own hold what only one command needs, so that `npm ci` at the root stays quick.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Installs the package in `folder` when something in it is missing or has another version; ends the process if it cannot. */
export function install(folder) {
  if (isInstalled(folder)) return
  const { status, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
  })
  if (error) console.error(error.message)
  if (status !== 0) process.exit(status ?? 1)
}

/** What npm installed last, less the entries that only this platform leaves out. */
function isInstalled(folder) {
  try {
    const packagesOf = file => JSON.parse(readFileSync(join(folder, file), 'utf8')).packages
    const found = packagesOf('node_modules/.package-lock.json')
    return Object.entries(packagesOf('package-lock.json')).every(
      ([path, { version, optional }]) => path === '' || optional || found[path]?.version === version,
    )
  } catch {
    return false
  }
}
