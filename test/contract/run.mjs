// npm run test:contract: the tests of the service and the public contract tests for SSE clients, both against the
// service on the packed tarball. The public ones need Go.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { installTarball, packTarball } from '../package/packed.mjs'
import { installHarness, runHarness } from './harness.mjs'
import { complaints, readReport } from './report.mjs'

const EXPECTED_TESTS = 113
const STOP_LIMIT_MS = 5_000

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'resilient-sse-contract-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const [signal, status] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
])
  process.once(signal, () => process.exit(status))

/** Bundles the service beside the installed tarball, which alone can then answer its imports of the package. */
async function installService() {
  const { filename, tarball } = packTarball(folder)
  const app = join(folder, 'app')
  installTarball(tarball, app)
  console.log(`service on ${filename}, Node ${process.version}`)
  const outfile = join(app, 'service.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('main.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    // Without the repository's paths, which lead to the sources.
    tsconfigRaw: {},
    logLevel: 'warning',
  })
  return outfile
}

async function startService() {
  const child = spawn(process.execPath, [await installService()], { stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  const { value: url } = await createInterface(child.stdout)[Symbol.asyncIterator]().next()
  if (url === undefined) throw new Error(`the service ended before it listened: ${await closed}`)
  return { url, child, closed }
}

/** Tells the service to stop: its process must end by itself, which it does only when no stream left anything open. */
async function stopService({ url, child, closed }) {
  const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
  await fetch(url, { method: 'DELETE' })
  const [status, signal] = await closed
  clearTimeout(limit)
  return status === 0 ? [] : [`the service did not end by itself: ${status ?? signal}`]
}

function testService(url) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const { status } = spawnSync(
    process.execPath,
    [vitest, 'run', 'test/contract/service.test.ts', 'test/contract/cases.test.ts'],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, CONTRACT_SERVICE: url },
    },
  )
  return status === 0 ? [] : ['the tests of the service failed']
}

async function testContract(url) {
  const { missing, program } = installHarness(folder)
  if (missing !== undefined) {
    console.log(`SKIPPED: the ${EXPECTED_TESTS} tests of the public harness, because ${missing}`)
    return []
  }
  const { output, status } = await runHarness(program, url)
  const report = readReport(output)
  console.log(`public harness: ${report.executed.length} executed, ${report.passed.length} passed`)
  const found = complaints(report, EXPECTED_TESTS)
  return status === 0 ? found : [...found, `the harness ended with ${status}`]
}

const startedAt = performance.now()
const service = await startService()
const found = [
  ...testService(service.url),
  ...(await testContract(service.url)),
  ...(await stopService(service)),
]
for (const complaint of found) console.error(complaint)
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(`${found.length === 0 ? 'ok' : 'FAILED'} in ${seconds} s`)
process.exitCode = found.length === 0 ? 0 : 1
