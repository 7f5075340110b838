// npm run test:runtimes: the packed package in Bun and Deno, against a fault server that Node runs. Their binaries come
// from the npm registry; where they cannot be had, a line says so.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install } from '../install.mjs'
import { installTarball, packTarball } from '../package/packed.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
install(here)

/** The executable of this platform: in the package that npm chose for it, or where an install script has moved it to. */
function binary(scope, file, moved) {
  const folder = join(here, 'node_modules', scope)
  const chosen = existsSync(folder) ? readdirSync(folder).map(name => join(folder, name, file)) : []
  return [...chosen, join(here, 'node_modules', moved)].find(path => existsSync(path))
}

const RUNTIMES = [
  { name: 'Node', command: process.execPath, args: [] },
  { name: 'Bun', command: binary('@oven', 'bin/bun', 'bun/bin/bun.exe'), args: ['run'] },
  {
    name: 'Deno',
    command: binary('@deno', 'deno', 'deno/deno'),
    args: ['run', '--allow-all', '--node-modules-dir=manual'],
  },
]

const folder = mkdtempSync(join(tmpdir(), 'resilient-sse-runtimes-'))
const app = join(folder, 'app')
installTarball(packTarball(folder).tarball, app)
copyFileSync(join(here, 'cases.mjs'), join(app, 'cases.mjs'))

const { answer, cutInside, eventLog, FaultServer, replay, reset, rest, send, silence, stay } = await import(
  join(app, 'node_modules/resilient-sse/dist/testing.js')
)
const ALL = [rest(), stay()]

/** A server whose scripts begin anew, for one runtime. */
function startServer() {
  return FaultServer.start({
    log: eventLog({ count: 20, ids: 'decimal' }),
    routes: {
      '/healthy': [ALL],
      '/reset': [[send(10), reset()], ALL],
      '/half': [[send(10), cutInside('event')], ALL],
      '/503': [[send(10), reset()], [answer(503)], ALL],
      '/silent': [[send(10), silence()], ALL],
      '/replay': [
        [send(10), reset()],
        [replay({ overlap: 5 }), ...ALL],
      ],
      '/404': [[answer(404)]],
      '/es-reset': [[send(10), reset()], ALL],
    },
  })
}

/** Tells how many streams are open at the server. */
async function startCounter(server) {
  const counter = createServer((_, response) => {
    response.end(String(server.requests.filter(({ closedAt }) => closedAt === undefined).length))
  })
  return { counter, url: await listen(counter) }
}

async function listen(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}/`
}

/** An address where nobody listens. */
async function unused() {
  const server = createServer()
  const url = await listen(server)
  server.close()
  return url
}

function run(command, args) {
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd: app, stdio: 'inherit', timeout: 60_000 })
    child.on('close', resolve)
  })
}

const failed = []
for (const { name, command, args } of RUNTIMES) {
  if (command === undefined) {
    console.log(`\n${name}: skipped, the npm registry has no binary of it for this platform`)
    continue
  }
  console.log(`\n${name}`)
  await run(command, ['--version'])
  const server = await startServer()
  const { counter, url } = await startCounter(server)
  const status = await run(command, [...args, 'cases.mjs', server.urlOf(''), url, await unused()])
  if (status !== 0) failed.push(name)
  counter.closeAllConnections()
  counter.close()
  await server.close()
}
rmSync(folder, { recursive: true, force: true })
if (failed.length > 0) {
  console.error(`\nFailed in ${failed.join(' and ')}`)
  process.exitCode = 1
}
