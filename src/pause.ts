/** The longest delay that a timer takes; more would fire at once. */
const MAX_TIMER_MS = 2_147_483_647

/** A wait that `close()` ends with a rejection and `reconnect()` cuts short. One at a time. */
export class Pause {
  readonly #signal: AbortSignal
  #cut: (() => void) | undefined

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /**
   * Resolves after `ms`, sooner when {@link cut} or `wake` is called (true: it was cut). The timer keeps the process
   * alive: a loop that waits for its server must not end with it.
   */
  wait(ms: number, watch?: (wake: () => void) => () => void): Promise<boolean> {
    const signal = this.#signal
    if (signal.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const finish = () => {
        clearTimeout(timer)
        unwatch?.()
        signal.removeEventListener('abort', onAbort)
        this.#cut = undefined
      }
      const onAbort = () => {
        finish()
        reject(signal.reason)
      }
      const done = (cut: boolean) => {
        finish()
        resolve(cut)
      }
      const timer = setTimeout(done, Math.min(ms, MAX_TIMER_MS), false)
      const unwatch = watch?.(() => done(false))
      signal.addEventListener('abort', onAbort)
      this.#cut = () => done(true)
    })
  }

  cut(): void {
    this.#cut?.()
  }
}
