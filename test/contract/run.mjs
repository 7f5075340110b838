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
/** Each client of clients.ts with its tests, beside the harness; the cases do not say which types are to be listened for. */
const CLIENTS = {
  'resilient-sse': ['service', 'cases'],
  'resilient-sse/eventsource': ['service'],
}
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

async function startService(file, client) {
  console.log(`\n${client}`)
  const child = spawn(process.execPath, [file, client], { stdio: ['ignore', 'pipe', 'inherit'] })
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

function testService(url, client, files) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const { status } = spawnSync(
    process.execPath,
    [vitest, 'run', ...files.map(name => `test/contract/${name}.test.ts`)],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, CONTRACT_SERVICE: url, CONTRACT_CLIENT: client },
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
const found = []
const file = await installService()
for (const [client, files] of Object.entries(CLIENTS)) {
  const service = await startService(file, client)
  const complained = [
    ...testService(service.url, client, files),
    ...(await testContract(service.url)),
    ...(await stopService(service)),
  ]
  found.push(...complained.map(complaint => `${client}: ${complaint}`))
}
for (const complaint of found) console.error(complaint)
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(`${found.length === 0 ? 'ok' : 'FAILED'} in ${seconds} s`)
process.exitCode = found.length === 0 ? 0 : 1
