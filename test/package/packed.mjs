// What an application gets: the package as npm packs it, installed into a folder of its own.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

function run(args, cwd) {
  return execFileSync(npm, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Builds and packs the package into a folder: what npm says of the tarball, and where it is. */
export function packTarball(folder) {
  run(['run', '--silent', 'build'], root)
  const [packed] = JSON.parse(run(['pack', '--json', '--pack-destination', folder], root))
  return { ...packed, tarball: join(folder, packed.filename) }
}

/** Makes a folder an application that has the tarball installed; its lock file tells what came with it. */
export function installTarball(tarball, app) {
  rmSync(app, { recursive: true, force: true })
  mkdirSync(app, { recursive: true })
  writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true }))
  run(['install', '--no-audit', '--no-fund', '--prefer-offline', tarball], app)
  const { packages } = JSON.parse(readFileSync(join(app, 'package-lock.json'), 'utf8'))
  return {
    path: join(app, 'node_modules', 'resilient-sse'),
    packages: Object.keys(packages).filter(Boolean),
  }
}
