// A folder belongs to one process at a time. The file `owner` in it says to which; that of a dead process is taken over.
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

interface Owner {
  pid: number
  host: string
  /** Tells the process of before a reboot from one that has its number now. */
  boot: string
  token: string
}

const held = new Set<string>()

/** Throws when another process has it. Returns what lets go of it. */
export function claim(folder: string): () => void {
  const file = join(folder, 'owner')
  const me: Owner = { pid: process.pid, host: hostname(), boot: bootId(), token: randomUUID() }
  const temporary = `${file}.${me.token}`
  writeFileSync(temporary, JSON.stringify(me))
  try {
    removeDead(folder, file, me)
    // Unlike a file that is opened and written, a link appears with its content.
    linkSync(temporary, file)
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? inUse(folder) : error
  } finally {
    rmSync(temporary)
  }
  held.add(file)
  const release = () => {
    process.off('exit', release)
    if (held.delete(file)) rmSync(file, { force: true })
  }
  process.on('exit', release)
  return release
}

/** Moved before it is removed: of two processes that find it dead, the slower one sees that it has moved another. */
function removeDead(folder: string, file: string, me: Owner): void {
  const aside = `${file}.${me.token}.dead`
  try {
    const found = readFileSync(file, 'utf8')
    const owner = JSON.parse(found) as Owner
    if (held.has(file) || mayBeAlive(owner, me)) throw inUse(folder, owner)
    renameSync(file, aside)
    if (readFileSync(aside, 'utf8') !== found) linkSync(aside, file)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error instanceof SyntaxError ? inUse(folder) : error
  } finally {
    rmSync(aside, { force: true })
  }
}

function mayBeAlive({ pid, host, boot }: Owner, me: Owner): boolean {
  // Whether a process of another machine lives cannot be seen from here.
  if (host !== me.host) return true
  // A container that is started again gives its process the number that it had before.
  if (boot !== me.boot || pid === me.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

function inUse(folder: string, owner?: Owner): Error {
  const by = owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`
  return new Error(`${folder} is in use by ${by}; if that is gone, remove ${join(folder, 'owner')}`)
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code
