// Other versions of Node, from the npm package `node`, kept in .tmp.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const cache = fileURLToPath(new URL('../../.tmp/matrix', import.meta.url))
const isWindows = process.platform === 'win32'

/** A folder that is a package of its own, so that npm installs here and not in the repository. */
export function folder(...path) {
  const made = join(cache, ...path)
  mkdirSync(made, { recursive: true })
  writeFileSync(join(made, 'package.json'), '{ "private": true }\n')
  return made
}

/** The executable of a major version; the running one, if it is that. */
export function nodeBinary(version) {
  if (process.versions.node.startsWith(`${version}.`)) return process.execPath
  const home = folder('node', version)
  const binary = join(home, 'node_modules', 'node', 'bin', isWindows ? 'node.exe' : 'node')
  if (!existsSync(binary)) {
    const args = ['install', '--no-audit', '--no-fund', '--no-save', `node@${version}`]
    execFileSync(isWindows ? 'npm.cmd' : 'npm', args, { cwd: home, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  return binary
}
