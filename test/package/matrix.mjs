// npm run test:matrix: packs the package, installs the tarball into an empty folder, and runs the fault tests against
// what was installed, on every Node that is supported. The other versions come from the npm package `node`.
import { execFileSync, spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { folder, nodeBinary } from './node-binary.mjs'
import { installTarball, packTarball } from './packed.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** All of them, or those of the first argument: `npm run test:matrix -- 26`. */
const versions = (process.argv[2] ?? '20,22,24,26').split(',')

const run = (command, args, options = {}) =>
  execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  })

const { filename, tarball, version } = packTarball(folder('packed'))
const { path: installed } = installTarball(tarball, folder('app'))
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
