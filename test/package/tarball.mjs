// npm run test:tarball: packs the package, has publint and are-the-types-wrong judge the tarball, installs it into an
// empty folder and uses it from ESM, from CommonJS and from TypeScript.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installTarball, packTarball } from './packed.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bin = name => join(root, 'node_modules', '.bin', name)
const folder = mkdtempSync(join(tmpdir(), 'resilient-sse-tarball-'))

/** Runs a command and shows what it prints; a failure ends this script with its status. */
function run(command, args, cwd = folder) {
  console.log(`$ ${[command.split('/').at(-1), ...args].join(' ')}`)
  try {
    const output = execFileSync(command, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    console.log(output.trimEnd())
    return output
  } catch (error) {
    console.error(error.stdout ?? error.message)
    rmSync(folder, { recursive: true, force: true })
    process.exit(1)
  }
}

/** One stream of three events, broken once: whatever module system loads this has the whole client. */
const USE = `
const server = await FaultServer.start({
  log: eventLog({ count: 3, seed: 1, ids: 'decimal', bytes: 20 }),
  script: [[send(2), reset()]],
})
const ids = []
for await (const event of new ResilientSse(server.url, { backoff: { baseMs: 10 }, resume: { store: fileStore(file) } })) {
  ids.push(event.id)
  if (ids.length === 3) break
}
const dials = server.requests.map(request => request.lastEventId)
const source = new EventSource(server.url, { lastEventId: '1' })
await new Promise(resolve => {
  source.onmessage = event => event.lastEventId === '3' && resolve()
})
source.close()
await server.close()
if ((await mcpFetch()('data:,passed')).status !== 200) throw new Error('mcpFetch does not pass on')
if (ids.join() !== '1,2,3' || dials.join() !== ',2') throw new Error('received ' + ids + ' in dials ' + dials)
console.log(kind + ': received ' + ids + ' in ' + dials.length + ' dials')
`
const ESM = `
import { ResilientSse } from 'resilient-sse'
import { EventSource } from 'resilient-sse/eventsource'
import { mcpFetch } from 'resilient-sse/mcp'
import { fileStore } from 'resilient-sse/stores/file'
import { eventLog, FaultServer, reset, send } from 'resilient-sse/testing'
`
const CJS = `
const { ResilientSse } = require('resilient-sse')
const { EventSource } = require('resilient-sse/eventsource')
const { mcpFetch } = require('resilient-sse/mcp')
const { fileStore } = require('resilient-sse/stores/file')
const { eventLog, FaultServer, reset, send } = require('resilient-sse/testing')
`

const packed = packTarball(folder)
const { tarball } = packed
console.log(`${packed.filename}: ${packed.files.length} files, ${(packed.size / 1_000).toFixed(0)} kB packed`)

run(bin('publint'), ['run', tarball, '--strict'])
run(bin('attw'), [tarball, '--profile', 'node16'])

const app = join(folder, 'app')
const installed = installTarball(tarball, app)
console.log(`installed: ${installed.packages.join(', ')}`)
if (installed.packages.length !== 2) throw new Error('the installation brought more than undici')

writeFileSync(join(app, 'use.mjs'), `${ESM}const kind = 'ESM'; const file = 'esm.cursor'\n${USE}`)
writeFileSync(
  join(app, 'use.cjs'),
  `${CJS}const kind = 'CommonJS'; const file = 'cjs.cursor'\n;(async () => {${USE}})().catch(error => { console.error(error); process.exit(1) })`,
)
run(process.execPath, ['use.mjs'], app)
run(process.execPath, ['use.cjs'], app)
run(process.execPath, [join(app, 'node_modules', '.bin', 'resilient-sse'), '--version'], app)

// TypeScript, strict, with library checks on, as an ES module and as a CommonJS one.
const TYPES = `
import { ResilientSse, SseHttpError, type LifecycleEvent, type SseEvent } from 'resilient-sse'
import { type LostCall, mcpFetch } from 'resilient-sse/mcp'
import { fileStore } from 'resilient-sse/stores/file'
import { FaultServer } from 'resilient-sse/testing'

export const known: LostCall['sent'] = 'unknown'
export const fetchOfSdk: (url: string | URL, init?: RequestInit) => Promise<Response> = mcpFetch({ tcp: false })

export async function main(): Promise<string | undefined> {
  const told: LifecycleEvent[] = []
  const stream = new ResilientSse('http://127.0.0.1:1/', {
    headers: async ({ attempt }) => ({ 'x-attempt': String(attempt) }),
    heartbeat: { timeoutMs: 'auto' },
    resume: { store: fileStore('cursor') },
    onLifecycle: event => told.push(event),
  })
  try {
    for await (const event of stream) {
      const { data, id }: SseEvent = event
      if (data === id) break
    }
  } catch (error) {
    if (error instanceof SseHttpError) return \`\${error.code} \${error.status}\`
  }
  // @ts-expect-error: there is no such option
  new ResilientSse('http://127.0.0.1:1/', { heartbeats: false })
  return FaultServer.name
}
`
writeFileSync(join(app, 'types.mts'), TYPES)
writeFileSync(join(app, 'types.cts'), TYPES)
// What the class must be assignable to, and what must be assignable to its options.
for (const name of ['eventsource-dom', 'eventsource-node'])
  copyFileSync(join(root, 'test', 'package', `${name}.mts`), join(app, `${name}.mts`))
const tsconfig = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: 'ES2022',
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable', 'ESNext.Disposable'],
    module: 'NodeNext',
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
    noEmit: true,
  },
  files: ['types.mts', 'types.cts', 'eventsource-dom.mts', 'eventsource-node.mts'],
}
writeFileSync(join(app, 'tsconfig.json'), JSON.stringify(tsconfig))
run(bin('tsc'), ['-p', '.'], app)
// As a Node project has it that does without the DOM's library and checks the libraries that it uses.
writeFileSync(
  join(app, 'node.mts'),
  `${TYPES}
export const allowed = new ResilientSse('http://127.0.0.1:1/', {
  headers: { a: undefined },
  signal: undefined,
  resume: { lastEventId: undefined },
})
export const paired = new ResilientSse('http://127.0.0.1:1/', { headers: new Map([['a', 'b']]) })
`,
)
const withoutDom = { ...tsconfig.compilerOptions, lib: ['ES2023'], skipLibCheck: false }
writeFileSync(
  join(app, 'tsconfig.node.json'),
  JSON.stringify({ compilerOptions: withoutDom, files: ['node.mts', 'eventsource-node.mts'] }),
)
run(bin('tsc'), ['-p', 'tsconfig.node.json'], app)
console.log('TypeScript: accepted as ESM and as CommonJS, library checks on')
rmSync(folder, { recursive: true, force: true })
