// npm run test:matrix: packs the package, installs the tarball into an empty folder, and runs the fault tests against
// what was installed, on every Node that is supported. The other versions come from the npm package `node`.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installTarball, packTarball } from './packed.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = join(root, '.tmp', 'matrix')
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
/** All of them, or those of the first argument: `npm run test:matrix -- 26`. */
const versions = (process.argv[2] ?? '20,22,24,26').split(',')

const run = (command, args, options = {}) =>
  execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  })

/** A folder that is a package of its own, so that npm installs here and not in the repository. */
function folder(...path) {
  const made = join(cache, ...path)
  mkdirSync(made, { recursive: true })
  writeFileSync(join(made, 'package.json'), '{ "private": true }\n')
  return made
}

function nodeBinary(version) {
  if (process.versions.node.startsWith(`${version}.`)) return process.execPath
  const home = folder('node', version)
  const binary = join(home, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (!existsSync(binary))
    run(npm, ['install', '--no-audit', '--no-fund', '--no-save', `node@${version}`], { cwd: home })
  return binary
}

const { filename, tarball, version } = packTarball(folder('packed'))
const { path: installed } = installTarball(tarball, join(cache, 'app'))
console.log(`resilient-sse ${version} installed from ${filename}`)
const failed = []
for (const version of versions) {
  const binary = nodeBinary(version)
  const exact = run(binary, ['--version']).trim()
  const startedAt = performance.now()
  console.log(`\nNode ${exact}`)
  const { status } = spawnSync(binary, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'test/faults'], {
    cwd: root,
    stdio: 'inherit',
    // First in the PATH, so that whatever a test starts runs on this version, too.
    env: { ...process.env, PATH: `${dirname(binary)}:${process.env.PATH}`, RESILIENT_SSE_PACKAGE: installed },
  })
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`Node ${exact}: ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s`)
  if (status !== 0) failed.push(exact)
}
if (failed.length > 0) {
  console.error(`\nFailed on ${failed.join(', ')}`)
  process.exitCode = 1
} else {
  console.log(`\nPassed on Node ${versions.join(', ')}`)
}
