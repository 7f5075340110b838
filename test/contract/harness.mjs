// The public contract tests for SSE clients: installed with Go, run against a service.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'

const MODULE = 'github.com/launchdarkly/sse-contract-tests'
/** A commit, because the latest tag lacks cases. Go checks what it is given against the public checksum database. */
const COMMIT = '81fc8203db98'
const LEAST_GO = 21
/** A run that hangs is ended before whoever waits for all checks loses patience. */
const TIME_LIMIT_MS = 170_000

/** Installs the harness into a folder: the path of the program, or why it cannot be had here. */
export function installHarness(folder) {
  const version = go(['version'])
  const [, minor] = /\bgo1\.(\d+)/.exec(version.stdout ?? '') ?? []
  if (version.error || minor === undefined) return { missing: 'there is no Go' }
  if (Number(minor) < LEAST_GO) return { missing: `Go 1.${minor} is older than 1.${LEAST_GO}` }
  const target = `${MODULE}@${COMMIT}`
  const download = go(['mod', 'download', target])
  if (download.status !== 0) return { missing: `${target} cannot be fetched: ${reason(download.stderr)}` }
  const install = go(['install', target], { GOBIN: folder })
  if (install.status !== 0) throw new Error(`go install ${target} failed:\n${install.stderr}`)
  return {
    program: join(folder, process.platform === 'win32' ? 'sse-contract-tests.exe' : 'sse-contract-tests'),
  }
}

function go(args, env = {}) {
  return spawnSync('go', args, { encoding: 'utf8', timeout: 120_000, env: { ...process.env, ...env } })
}

/** The last thing that Go said, on one line and without addresses: that of a proxy may hold a password. */
function reason(stderr) {
  const [line = 'no reason given'] = stderr.trim().split('\n').reverse()
  return line.trim().replaceAll(/\bhttps?:\/\/\S+/g, '…')
}

/** Runs the harness against the service at `url` and shows what it prints. */
export async function runHarness(program, url) {
  const args = ['--url', url, '--host', '127.0.0.1', '--port', String(await freePort())]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const limit = setTimeout(() => child.kill('SIGKILL'), TIME_LIMIT_MS)
  const stop = () => child.kill('SIGKILL')
  process.once('exit', stop)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8')
    stream.on('data', text => {
      output += text
      process.stdout.write(text)
    })
  }
  const [status, signal] = await once(child, 'close')
  clearTimeout(limit)
  process.off('exit', stop)
  return { output, status: status ?? signal }
}

/** The harness cannot choose a free port by itself. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
