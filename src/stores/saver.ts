import { SseError } from '../errors.ts'
import type { CursorStore } from '../layers/resume.ts'

/** How long the end of a stream waits for a save. */
const LONGEST_SAVE_MS = 10_000

/** Brings handled ids to a store: one write in flight, the newest wins, the rest is skipped. */
export class Saver {
  readonly #store: CursorStore
  readonly #onSaved: (id: string, error: SseError | undefined) => void
  #wanted: string | undefined
  #saved: string | undefined
  #writing: Promise<void> | undefined
  /** A store that refused to load may belong to another stream: it is not ours to close. */
  #loaded = false
  #closed = false
  /** The store was closed. */
  #over = false
  #failure: SseError | undefined

  constructor(store: CursorStore, onSaved: (id: string, error: SseError | undefined) => void) {
    this.#store = store
    this.#onSaved = onSaved
  }

  async load(): Promise<string | undefined> {
    let id: unknown
    try {
      id = await this.#store.load()
    } catch (error) {
      throw storeError('The cursor could not be loaded', error)
    }
    if (id !== undefined && id !== null && typeof id !== 'string') {
      throw new SseError(
        'ERR_SSE_STORE',
        `The store's load() gave a value of type ${typeof id}, not a string`,
      )
    }
    if (this.#closed) {
      // The stream ended meanwhile, and nobody waits for the answer.
      await this.#store.close?.()
      return undefined
    }
    this.#loaded = true
    this.#saved = id ?? undefined
    return this.#saved
  }

  save(id: string): void {
    // Acknowledged too late: a store that was closed may be in another stream's hands.
    if (this.#over) return
    this.#wanted = id
    if (this.#writing === undefined && id !== this.#saved) this.#writing = this.#write()
  }

  /** Waits for the newest id to be written. Throws when it could not be. */
  async close(): Promise<void> {
    this.#closed = true
    if (!this.#loaded) return
    await this.#settled()
    // The last save failed: one more try, now that the stream brings nothing newer.
    if (this.#wanted !== undefined) this.save(this.#wanted)
    await this.#settled()
    this.#over = this.#store.close !== undefined
    try {
      await this.#store.close?.()
    } catch (error) {
      this.#failure ??= storeError('The store could not be closed', error)
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  /** A store that hangs must not hold the end of a stream for ever. */
  async #settled(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new SseError(
        'ERR_SSE_STORE',
        `The store did not save within ${LONGEST_SAVE_MS / 1_000} s`,
      )
      timer = setTimeout(() => reject(error), LONGEST_SAVE_MS)
    })
    try {
      await Promise.race([this.#idle(), late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Acknowledgements may come while the stream is being closed. */
  async #idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  async #write(): Promise<void> {
    // The loop of this very read may hand out more events; one write then covers them all.
    await undefined
    while (this.#wanted !== undefined && this.#wanted !== this.#saved) {
      const id = this.#wanted
      try {
        await this.#store.save(id)
        this.#saved = id
        this.#failure = undefined
      } catch (error) {
        this.#failure = storeError('The cursor could not be saved', error)
      }
      this.#onSaved(id, this.#failure)
      // A store that is down is asked again when there is something newer to save.
      if (this.#failure !== undefined && this.#wanted === id) break
    }
    this.#writing = undefined
  }
}

function storeError(what: string, cause: unknown): SseError {
  if (cause instanceof SseError && cause.code === 'ERR_SSE_STORE') return cause
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  return new SseError('ERR_SSE_STORE', what + why, { cause })
}
