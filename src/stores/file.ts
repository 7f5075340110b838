import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { SseError } from '../errors.ts'
import type { CursorStore } from '../layers/resume.ts'
import { holdsLock, releaseLock, takeLock } from './lock.ts'
import { codeOf, readRecord, refusal, sweep, writeRecord } from './record.ts'

export interface FileStoreOptions {
  /**
   * The name under which the lock knows this machine. Default: the host name, since that is what survives a restart
   * of a machine or a container. A lock of the same name from an earlier boot or container is taken over; a lock of
   * another name is refused, because whether its owner lives cannot be seen from here. Set one fixed name where
   * every restart gets a new host name and something else guarantees a single instance.
   */
  host?: string
}

/**
 * Keeps the cursor of one stream in one file, so that a new process goes on where the last one stopped.
 *
 * Every save is a synced temporary file renamed over the old one: after a crash, a `kill -9` or a power failure the
 * file holds the old cursor or the new one, never a part. From `load()` to `close()` a lock file beside it
 * (`<path>.lock`) keeps every other store away, in this process and in others; the lock of a process that died is
 * taken over. A symbolic link is followed, and the lock lies beside the file it leads to.
 *
 * `load()` resolves with `undefined` when there is no file yet. Saves are written one at a time, in order. `close()`
 * waits for them; after it, `load()` takes the lock again.
 *
 * Every failure rejects with an `SseError` of code `ERR_SSE_STORE` that names the path and what to do: a file that
 * exists but cannot be read or is damaged (never taken for "no cursor"), a missing directory, missing rights, a full
 * disk, a file in use by another store, `save()` before `load()` or after `close()`, `save()` after the lock was
 * removed or taken over.
 *
 * @param path The file; relative to the working directory at the time of this call. Its directory must exist.
 * @throws SseError with code `ERR_SSE_OPTION` when `path` is not a string or empty.
 */
export function fileStore(path: string, options: FileStoreOptions = {}): CursorStore {
  if (typeof path !== 'string' || path === '') {
    throw new SseError(
      'ERR_SSE_OPTION',
      `fileStore(path): the path of a file is needed, got ${JSON.stringify(path)}`,
    )
  }
  const named = resolve(path)
  let open: { file: string; lock: string; token: string } | undefined
  let turns: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = turns.then(work).catch((error: unknown) => {
      throw error instanceof SseError ? error : failure(named, error)
    })
    turns = turn.catch(() => undefined)
    return turn
  }

  async function load(): Promise<string | undefined> {
    const file = await locate(named)
    const lock = `${file}.lock`
    const taken = await takeLock(lock, options.host)
    if (!('token' in taken)) throw inUse(file, taken.heldBy)
    try {
      await sweep(file)
      const id = await readRecord(file)
      open = { file, lock, token: taken.token }
      return id
    } catch (error) {
      await releaseLock(lock, taken.token).catch(() => undefined)
      throw error
    }
  }

  async function save(id: string): Promise<void> {
    if (open === undefined) throw refusal(`${named} is not open: save() works between load() and close()`)
    // Somebody who removed the lock by hand may have let another process in, whose cursor must survive.
    if (!(await holdsLock(open.lock, open.token))) {
      throw refusal(
        `${named} was not saved: ${open.lock} was removed or taken over, so close() and load() again`,
      )
    }
    await writeRecord(open.file, id)
  }

  async function close(): Promise<void> {
    const closing = open
    open = undefined
    if (closing !== undefined) await releaseLock(closing.lock, closing.token)
  }

  return { load: () => inTurn(load), save: id => inTurn(() => save(id)), close: () => inTurn(close) }
}

/** One name for one file, whatever links lead to it: the lock is only as good as this name. */
async function locate(named: string): Promise<string> {
  try {
    return await realpath(named)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
  const file = join(await realpath(dirname(named)), basename(named))
  const entry = await lstat(file).catch(() => undefined)
  if (entry?.isSymbolicLink()) {
    throw refusal(`${named} is a link to nothing: remove it or create what it points to`)
  }
  return file
}

function inUse(file: string, heldBy: string | undefined): SseError {
  const remove = `remove ${file}.lock`
  if (heldBy === undefined) {
    return refusal(`${file} has a lock that names no process: if none uses the file, ${remove}`)
  }
  return refusal(
    `${file} is in use by ${heldBy}: give each stream a file of its own; if the user is gone, ${remove}`,
  )
}

const RIGHTS = 'this process may not read and write it and its directory: change the rights or the path'

const REMEDIES: Record<string, string> = {
  ENOENT: 'its directory does not exist: create it first',
  ENOTDIR: 'a part of its path is not a directory: choose another path',
  EACCES: RIGHTS,
  EPERM: RIGHTS,
  EROFS: 'its file system is read-only: choose another path',
  ENOSPC: 'its disk is full: free some space',
  ELOOP: 'its links lead in a circle: choose another path',
}

function failure(file: string, cause: unknown): SseError {
  const remedy = REMEDIES[codeOf(cause)] ?? (cause instanceof Error ? cause.message : String(cause))
  return new SseError('ERR_SSE_STORE', `The cursor file ${file} cannot be used: ${remedy}`, { cause })
}
