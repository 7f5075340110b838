// npm run test:conformance: the client scenarios of the official suite, for both lines of the SDK, bare and with mcpFetch. What the
// SDK alone passes has to pass wrapped, and `sse-retry` without a warning.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install } from '../../install.mjs'

const path = relative => fileURLToPath(new URL(relative, import.meta.url))
const root = path('../../..')
install(path('.'))
spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })

/** A release of the suite, the Node that it needs, the SDK line under test, and its scenarios by protocol revision. */
const RUNS = [
  {
    line: 'v1',
    suite: path('node_modules/conformance-0.1/dist/index.js'),
    node: process.execPath,
    scenarios: { '': ['initialize', 'tools_call', 'sse-retry'] },
  },
  {
    line: 'v2',
    suite: path('node_modules/conformance-0.2/dist/index.js'),
    node: path('node_modules/node/bin/node'),
    scenarios: {
      '2025-11-25': ['initialize', 'tools_call', 'sse-retry'],
      '2026-07-28': [
        'tools_call',
        'request-metadata',
        'http-standard-headers',
        'http-custom-headers',
        'http-invalid-tool-headers',
        'json-schema-ref-no-deref',
        'sep-2322-client-request-state',
      ],
    },
  },
]
/** Passed by the SDK alone: a run in which it fails them measures something else. */
const MUST_PASS_BARE = ['initialize', 'tools_call', 'sse-retry']

const results = mkdtempSync(join(tmpdir(), 'conformance-'))
const problems = []
for (const run of RUNS)
  for (const [revision, scenarios] of Object.entries(run.scenarios))
    for (const scenario of scenarios) await compare(run, revision, scenario)
rmSync(results, { recursive: true })
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0

async function compare(run, revision, scenario) {
  const [bare, wrapped] = await Promise.all(
    ['bare', 'wrapped'].map(how => outcome(run, revision, scenario, how)),
  )
  const title = `${run.line} ${revision.padEnd(10)} ${scenario.padEnd(30)}`
  console.log(`${title} bare: ${shown(bare)}   wrapped: ${shown(wrapped)}`)
  if (MUST_PASS_BARE.includes(scenario) && !bare.passed) problems.push(`${title} fails bare\n${bare.output}`)
  if (bare.passed && !wrapped.passed) problems.push(`${title} fails wrapped only\n${wrapped.output}`)
  if (scenario === 'sse-retry' && wrapped.warnings > 0)
    problems.push(`${title} passes wrapped with a warning\n${wrapped.output}`)
}

async function outcome({ line, suite, node }, revision, scenario, how) {
  const client = `${process.execPath} ${path('../mcp/conformance-client.mjs')} ${line} ${how}`
  const version = revision === '' ? [] : ['--spec-version', revision]
  const args = [
    suite,
    'client',
    '--command',
    client,
    '--scenario',
    scenario,
    ...version,
    '--output-dir',
    results,
  ]
  if (!existsSync(node)) throw new Error(`No ${node}`)
  const { status, output } = await new Promise(resolve =>
    execFile(node, args, { cwd: root, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : 1, output: `${stdout}${stderr}` }),
    ),
  )
  const [, passes = '?', failed = '?', warnings = '?'] =
    /Passed: (\d+)\/\d+, (\d+) failed, (\d+) warnings/.exec(output) ?? []
  const passed = status === 0 && failed === '0' && Number(passes) > 0
  return { passed, passes, failed, warnings: Number(warnings), output }
}

function shown({ passed, passes, failed, warnings }) {
  return `${passed ? 'passed' : 'FAILED'} (${passes} passed, ${failed} failed, ${warnings} warnings)`
}
