import type { CursorStore } from '../index.ts'
import { fileStore } from '../stores/file.ts'

/** A cursor file, and when it has caught up. */
export interface CursorFile {
  store: CursorStore
  /**
   * Resolves when everything acknowledged so far is on disk, or could not be saved. Waiting for it before the next event
   * is printed is what limits the damage of a `kill -9` to one repeated event.
   */
  saved(): Promise<void>
}

export function cursorFile(path: string): CursorFile {
  const file = fileStore(path)
  let saving: Promise<void> = Promise.resolve()
  return {
    store: {
      load: () => file.load(),
      save(id) {
        const save = Promise.resolve(file.save(id))
        saving = save.catch(() => {})
        return save
      },
      close: () => file.close?.(),
    },
    async saved() {
      // The stream hands an acknowledged id to the store in a microtask; one turn of the loop is after all of them.
      await new Promise(resolve => setImmediate(resolve))
      await saving
    },
  }
}
