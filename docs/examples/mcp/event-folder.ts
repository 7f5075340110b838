// The folder of the event files, one for each session. It belongs to one process: a second would take the calls that the
// first works on for those of a dead one, and answer them.
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { FileEventStore, type FileOptions } from './file-event-store.ts'
import { claim } from './owner.ts'

const DAY_MS = 86_400_000

export class EventFolder {
  readonly #folder: string
  readonly #options: FileOptions
  readonly #release: () => void

  /** Throws when it cannot be written or is in use: a server that would forget everything should not start. */
  constructor(folder: string, options: FileOptions) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#folder = folder
    this.#options = options
    this.#release = claim(folder)
    // Clients that will not come back do not say so.
    for (const name of readdirSync(folder).filter(name => /\.events(\.new)?$/.test(name))) {
      const file = join(folder, name)
      if (Date.now() - statSync(file).mtimeMs > DAY_MS) rmSync(file)
    }
  }

  create(session: string): FileEventStore {
    return new FileEventStore(this.#fileOf(session), this.#options)
  }

  /** What an earlier process had sent in this session, and the end of the calls that it left; `undefined` for no session. */
  async earlier(session: string): Promise<FileEventStore | undefined> {
    // The name comes from the network.
    if (!/^[\w-]{1,128}$/.test(session) || !existsSync(this.#fileOf(session))) return undefined
    try {
      const store = this.create(session)
      await store.endOpenCalls()
      return store
    } catch (error) {
      this.#options.onError(error as Error)
      return undefined
    }
  }

  close(): void {
    this.#release()
  }

  #fileOf(session: string): string {
    return join(this.#folder, `${session}.events`)
  }
}
