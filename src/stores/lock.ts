import { randomBytes } from 'node:crypto'
import { readFileSync, unlinkSync } from 'node:fs'
import { link, open, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { mayBeAlive, type Owner, parseOwner, thisProcess } from './owner.ts'
import { codeOf, renameOver } from './record.ts'

// Some 1 s: far longer than any other taker needs, short enough to be told at start-up.
const ATTEMPTS = 50

const held = new Map<string, string>()

/**
 * Takes the lock, under the name `host`. Resolves with its token, or with who stands in the way (`undefined`: a lock
 * file that names nobody). File system errors are passed on as they are.
 */
export async function takeLock(
  file: string,
  host: string | undefined,
): Promise<{ token: string } | { heldBy: string | undefined }> {
  const token = randomBytes(8).toString('hex')
  const by = await acquire(file, thisProcess(token, host))
  if (by === 'nobody') return { heldBy: undefined }
  if (by !== 'me') {
    const here = held.get(file) === by.token
    return { heldBy: here ? 'another stream of this process' : `process ${by.pid} on ${by.host}` }
  }
  if (held.size === 0) process.on('exit', releaseAll)
  held.set(file, token)
  return { token }
}

export async function holdsLock(file: string, token: string): Promise<boolean> {
  const owner = await readOwner(file)
  return typeof owner === 'object' && owner.token === token
}

export async function releaseLock(file: string, token: string): Promise<void> {
  if (held.get(file) === token) held.delete(file)
  if (held.size === 0) process.off('exit', releaseAll)
  if (await holdsLock(file, token)) await unlink(file)
}

/**
 * A dead owner's lock cannot simply be unlinked: a slow taker would unlink the lock that a quicker one has put in
 * its place. Replacing the lock with token T is therefore allowed only to the holder of the guard `<lock>.T`, which
 * looks again once it has the guard. As T is dead and never returns, and only a guard's holder replaces it, what it
 * sees then stays true until it renames. The guard is a lock of the same kind, so a taker that dies half-way is
 * taken over in the same manner.
 */
async function acquire(file: string, me: Owner): Promise<Owner | 'me' | 'nobody'> {
  let by: Owner | 'nobody' = 'nobody'
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const owner = await readOwner(file)
    if (owner === undefined) {
      if (await create(file, me)) return 'me'
      continue
    }
    by = owner
    if (owner !== 'nobody') {
      if (mayBeAlive(owner, me)) return owner
      if (await replace(file, owner, me)) return 'me'
    }
    await sleep(10 + Math.random() * 20)
  }
  return by
}

async function replace(file: string, dead: Owner, me: Owner): Promise<boolean> {
  const guard = `${file}.${dead.token}`
  if ((await acquire(guard, me)) !== 'me') return false
  try {
    if (!(await holdsLock(file, dead.token))) return false
    await withTemp(file, me, temp => renameOver(temp, file))
    return true
  } catch (error) {
    // The temp file is gone: of a lock that is itself a guard, a new owner has swept it, and all of this is stale.
    if (codeOf(error) === 'ENOENT') return false
    throw error
  } finally {
    await rm(guard, { force: true })
  }
}

/** False when the file is there already. */
async function create(file: string, me: Owner): Promise<boolean> {
  try {
    // A link appears with its content, so a crash in between cannot leave a lock that names nobody.
    await withTemp(file, me, temp => link(temp, file))
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
  }
  // Not every file system has hard links (exFAT, SMB shares); and a new owner may have swept our temp file away.
  try {
    const handle = await open(file, 'wx')
    try {
      await handle.writeFile(JSON.stringify(me))
      await handle.sync()
    } catch (error) {
      await rm(file, { force: true })
      throw error
    } finally {
      await handle.close()
    }
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function withTemp(file: string, me: Owner, use: (temp: string) => Promise<void>): Promise<void> {
  const temp = `${file}.${me.token}.tmp`
  try {
    await writeFile(temp, JSON.stringify(me), { flag: 'wx', flush: true })
    await use(temp)
  } finally {
    await rm(temp, { force: true })
  }
}

async function readOwner(file: string): Promise<Owner | 'nobody' | undefined> {
  try {
    return parseOwner(await readFile(file, 'utf8')) ?? 'nobody'
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function releaseAll(): void {
  for (const [file, token] of held) {
    try {
      if (parseOwner(readFileSync(file, 'utf8'))?.token === token) unlinkSync(file)
    } catch {
      // Nobody is left to be told; the next owner sees that this process is gone.
    }
  }
}
