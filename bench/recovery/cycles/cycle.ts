import type { LifecycleEvent } from 'resilient-sse'
import { type Raw, raw } from './raw.ts'

/** What one break and the recovery from it came to; times in milliseconds. */
export interface CycleFigures {
  /** Of the break. */
  name: string
  /** Last event before the break and first one after it. */
  received: string
  first: string
  dials: number
  tookMs: number
  /** What bare fetches took meanwhile, through the same relay. */
  rawMs: number
  /** What is left when waits and bare fetches are taken off. */
  addedMs: number
  /** How far two bare fetches differed side by side: what this machine cannot tell apart. */
  noiseMs: number
  /** Mixed with a break that nobody ordered: a process was starved of the processor. */
  disturbed: boolean
}

/**
 * One break and the recovery from it. For each wait a bare timer of the same length is started beside ours, and for each
 * dial undici's fetch through the same relay: both meet the same moment, so that a machine busy with other things is not
 * taken for a slow recovery, nor hides one.
 */
export class Cycle {
  droppedAt: number | undefined
  readonly #name: string
  readonly #url: string
  #received = ''
  #waitedMs = 0
  readonly #raws: Promise<Raw>[] = []

  constructor(name: string, url: string) {
    this.#name = name
    this.#url = url
  }

  tell(event: LifecycleEvent, received: string): void {
    const now = performance.now()
    if (event.type === 'drop' && this.droppedAt === undefined) {
      this.droppedAt = now
      this.#received = received
    }
    if (event.type === 'wait') {
      setTimeout(() => {
        this.#waitedMs += performance.now() - now
      }, event.delayMs)
    }
    if (event.type === 'dial') this.#raws.push(raw(this.#url, event.lastEventId))
  }

  async end(now: number, first: string): Promise<CycleFigures> {
    const raws = await Promise.all(this.#raws)
    // A dial of ours that was refused while undici's own got through costs nothing in this account.
    const counted = raws.filter((one, i) => i === raws.length - 1 || one.end === 'refused')
    const rawMs = counted.reduce((sum, one) => sum + one.tookMs, 0)
    const tookMs = now - (this.droppedAt ?? now)
    const again = () => raw(this.#url, this.#received)
    const [one, other] = await Promise.all([again(), again()])
    return {
      name: this.#name,
      received: this.#received,
      first,
      dials: raws.length,
      tookMs,
      rawMs,
      addedMs: tookMs - this.#waitedMs - rawMs,
      noiseMs: other.tookMs - one.tookMs,
      disturbed: [...raws, one, other].some(({ end }) => end === 'broken'),
    }
  }
}
