import type { CursorStore } from '../../src/layers/resume.ts'

/** A store that remembers what it was told, as slow and as broken as the test wants. */
export class RecordingStore implements CursorStore {
  readonly saves: string[] = []
  inFlight = 0
  mostInFlight = 0
  closed = 0
  stored: string | undefined
  delayMs = 0
  fails: (id: string) => boolean = () => false

  constructor(stored?: string) {
    this.stored = stored
  }

  load(): string | undefined {
    return this.stored
  }

  async save(id: string): Promise<void> {
    this.saves.push(id)
    this.mostInFlight = Math.max(this.mostInFlight, ++this.inFlight)
    if (this.delayMs > 0) await new Promise(resolve => setTimeout(resolve, this.delayMs))
    this.inFlight--
    if (this.fails(id)) throw new Error('disk full')
    this.stored = id
  }

  close(): void {
    this.closed++
  }
}
