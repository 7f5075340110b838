import type { ResilientSse } from '../index.ts'

/** What `timeout(1)` exits with. */
const TIMED_OUT = 124
// Not SIGHUP: a listener would undo nohup(1), and --cursor needs none, as each id is on disk before the next event.
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const
/** How long a reader of stdout that does not read may hold up the end, in milliseconds. */
const GRACE_MS = 250

/** Ends the stream when somebody else than the server wants it to; `code` is what to exit with. */
export class Ending {
  code = 0
  closed: Promise<void> = Promise.resolve()
  #giveUp: (() => void) | undefined
  readonly #stop: (() => void)[] = []

  constructor(stream: ResilientSse, timeoutMs: number | undefined) {
    const end = (code: number) => {
      this.code = code
      this.closed = stream.close()
      // Awaited after the loop; until then nobody may be there to hear of a failed save.
      this.closed.catch(() => {})
      const timer = setTimeout(() => this.#giveUp?.(), GRACE_MS)
      this.#stop.push(() => clearTimeout(timer))
    }
    for (const [signal, code] of Object.entries(SIGNALS)) {
      const onSignal = () => end(code)
      // Once: a second Ctrl-C ends the process the hard way, should the first one be stuck.
      process.once(signal, onSignal)
      this.#stop.push(() => process.off(signal, onSignal))
    }
    if (timeoutMs === undefined) return
    const timer = setTimeout(() => end(TIMED_OUT), timeoutMs)
    this.#stop.push(() => clearTimeout(timer))
  }

  /** Resolves with true when the work is done, or with false when it is still stuck a while after the end was wanted. */
  waitsFor(work: Promise<void>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#giveUp = () => resolve(false)
      work.then(() => resolve(true), reject)
    })
  }

  dispose(): void {
    for (const stop of this.#stop) stop()
  }
}
