// What these tests need of the machine, beside Node.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const path = relative => fileURLToPath(new URL(relative, import.meta.url))

/** The Python of a virtual environment with this version of the SDK, which is made when it is not there; or nothing. */
export async function pythonSdk(version) {
  const folder = path(`.tmp/python-${version}`)
  const wanted = readFileSync(path(`python/${version}.txt`), 'utf8')
  const python = `${folder}/bin/python`
  // Written last: an installation that was broken off has none.
  const stamp = `${folder}/installed.txt`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted && works(python)) return python
  const system = ['python3', 'python'].find(works)
  if (system === undefined) return leaveOut(`Python SDK ${version}`, 'no Python 3.10 or newer')
  try {
    rmSync(folder, { recursive: true, force: true })
    const run = promisify(execFile)
    await run(system, ['-m', 'venv', folder])
    await run(python, [
      '-m',
      'pip',
      'install',
      '--disable-pip-version-check',
      '-q',
      '-r',
      path(`python/${version}.txt`),
    ])
    writeFileSync(stamp, wanted)
    return python
  } catch (error) {
    return leaveOut(
      `Python SDK ${version}`,
      String(error.stderr || error.message)
        .trim()
        .split('\n')
        .at(-1),
    )
  }
}

function works(python) {
  const check = 'import sys; sys.exit(sys.version_info < (3, 10))'
  return spawnSync(python, ['-c', check]).status === 0
}

export function nginx() {
  const found = ['nginx', '/usr/sbin/nginx'].find(command => spawnSync(command, ['-v']).status === 0)
  return found ?? leaveOut('the gateway', 'no nginx')
}

function leaveOut(what, why) {
  console.log(`${what} is left out: ${why}`)
}
