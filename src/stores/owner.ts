import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Who holds a lock file. The token is new for every taking, so a dead owner can never come back as itself. */
export interface Owner {
  token: string
  pid: number
  /** When the process started, in the kernel's count; it tells a reused pid. Empty where no platform file tells. */
  start: string
  host: string
  /** Where `pid` means something: one boot of one machine and one pid namespace. */
  space: string
}

export function thisProcess(token: string, host: string = hostname()): Owner {
  return { token, pid: process.pid, start: startOf(process.pid), host, space: pidSpace() }
}

/** `undefined` for a text that names no owner. */
export function parseOwner(text: string): Owner | undefined {
  try {
    const { token, pid, start, host, space } = JSON.parse(text) as Record<string, unknown>
    // The token becomes part of a file name, and a pid below 1 would address a process group.
    if (!/^[0-9a-f]{16}$/.test(String(token)) || !Number.isSafeInteger(pid) || Number(pid) < 1)
      return undefined
    return {
      token: String(token),
      pid: Number(pid),
      start: String(start),
      host: String(host),
      space: String(space),
    }
  } catch {
    return undefined
  }
}

/** False only when the owner is known to be gone, as seen from `me`. */
export function mayBeAlive(owner: Owner, me: Owner): boolean {
  // The same host in another boot or pid namespace is a machine or a container that was started again.
  if (owner.space !== me.space) return owner.host !== me.host
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const start = startOf(owner.pid)
  return start === '' || owner.start === '' || start === owner.start
}

function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command name stands in parentheses and may contain anything; then: state (field 3) … start (field 22).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A killed process that its parent has not reaped still has a pid and a start time, but writes no more.
    return fields[0] === 'Z' || fields[0] === 'X' ? 'dead' : (fields[19] ?? '')
  } catch {
    return ''
  }
}

function pidSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}
