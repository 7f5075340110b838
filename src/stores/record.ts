import { createHash, randomBytes } from 'node:crypto'
import { open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SseError } from '../errors.ts'

/** Reads the cursor; `undefined` when there is no file. Throws for every file that is not a whole cursor. */
export async function readRecord(file: string): Promise<string | undefined> {
  const found = await stat(file).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return undefined
  // Asked first: reading a named pipe would never end.
  if (!found.isFile()) throw refusal(`${file} is not a regular file: choose another path`)
  const { v, id, savedAt, check } = parse(await readFile(file, 'utf8'))
  if (typeof v === 'number' && v > 1) {
    throw refusal(`${file} was written by a newer version of resilient-sse (format ${v}): update this one`)
  }
  if (v === 1 && typeof id === 'string' && typeof savedAt === 'string' && check === checksum(id, savedAt)) {
    return id
  }
  throw refusal(`${file} is damaged or no cursor file: restore it, or remove it to start without a cursor`)
}

/** Replaces the cursor; a crash at any moment leaves the old file or the new one. */
export async function writeRecord(file: string, id: string): Promise<void> {
  const savedAt = new Date().toISOString()
  // JSON.stringify escapes whatever UTF-8 cannot carry, so even half a surrogate pair comes back as it was.
  const text = `${JSON.stringify({ v: 1, id, savedAt, check: checksum(id, savedAt) })}\n`
  const temp = `${file}.${randomBytes(8).toString('hex')}.tmp`
  try {
    await writeFile(temp, text, { flag: 'wx', flush: true })
    await renameOver(temp, file)
  } catch (error) {
    await rm(temp, { force: true }).catch(() => undefined)
    throw error
  }
  if (process.platform !== 'win32') await syncDirectory(dirname(file))
}

/** Removes what killed processes left behind. Only for the owner of the lock: nobody else writes here then. */
export async function sweep(file: string): Promise<void> {
  const prefix = `${basename(file)}.`
  const leftover = /^(?:[0-9a-f]{16}\.tmp|lock(?:\.[0-9a-f]{16})+(?:\.tmp)?)$/
  for (const name of await readdir(dirname(file))) {
    if (name.startsWith(prefix) && leftover.test(name.slice(prefix.length))) {
      await rm(join(dirname(file), name), { force: true })
    }
  }
}

/** `rename`, patient with the virus scanners and indexers of Windows, which hold files open for an instant. */
export async function renameOver(from: string, to: string): Promise<void> {
  for (let waitMs = 10; ; waitMs *= 2) {
    try {
      return await rename(from, to)
    } catch (error) {
      const passing = process.platform === 'win32' && ['EPERM', 'EACCES', 'EBUSY'].includes(codeOf(error))
      if (!passing || waitMs > 500) throw error
      await sleep(waitMs)
    }
  }
}

export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}

export function refusal(text: string): SseError {
  return new SseError('ERR_SSE_STORE', `The cursor file ${text}`)
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

function checksum(id: string, savedAt: string): string {
  return createHash('sha256')
    .update(JSON.stringify([id, savedAt]))
    .digest('hex')
    .slice(0, 16)
}

/** Without it a power failure may undo the rename. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } catch (error) {
    // Some network file systems cannot sync a directory; they order renames themselves.
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes(codeOf(error))) throw error
  } finally {
    await handle.close()
  }
}
