/** The longest delay a timer takes. Node runs one that is longer at once, and so does this clock. */
const MAX_TIMER_MS = 2_147_483_647

/** A timer of the virtual clock, and the handle that `setTimeout` gives out. */
class Timer {
  readonly seq: number
  readonly run: () => void
  /** Milliseconds between two runs of an interval; 0 for a timeout. */
  readonly periodMs: number
  /** Whether the client set it: those must be gone at the end. */
  readonly ofClient: boolean
  at: number
  cancelled = false

  constructor(seq: number, at: number, run: () => void, periodMs: number, ofClient: boolean) {
    this.seq = seq
    this.at = at
    this.run = run
    this.periodMs = periodMs
    this.ofClient = ofClient
  }

  unref(): this {
    return this
  }
}

const real = {
  setImmediate: globalThis.setImmediate,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  performanceNow: performance.now,
  dateNow: Date.now,
  random: Math.random,
}

/**
 * Time that passes only when nothing is left to do: a heap of timers under patched globals. Between two timers the real
 * event loop turns once, which runs all that promises have to do; nothing in a simulated world waits for anything else.
 */
export class VirtualClock {
  /** Monotonic milliseconds. */
  now = 0
  /** What the wall clock shows beyond {@link now}. */
  wallOffset = Date.UTC(2026, 0, 31)
  readonly #heap: Timer[] = []
  #seq = 0
  /** Timers that the client has set and neither cleared nor seen run. */
  ofClient = 0

  /** Replaces time and chance in this process until the returned function is called. */
  install(random: () => number): () => void {
    const set = (
      run: (...args: unknown[]) => void,
      ms: number | undefined,
      args: unknown[],
      repeat: boolean,
    ) => {
      const delay = clampDelay(ms)
      return this.#add(
        delay,
        args.length > 0 ? () => run(...args) : (run as () => void),
        repeat ? delay : 0,
        true,
      )
    }
    const clear = (timer: unknown) => this.cancel(timer)
    Object.assign(globalThis, {
      setTimeout: (run: () => void, ms?: number, ...args: unknown[]) => set(run, ms, args, false),
      setInterval: (run: () => void, ms?: number, ...args: unknown[]) => set(run, ms, args, true),
      clearTimeout: clear,
      clearInterval: clear,
    })
    performance.now = () => this.now
    Date.now = () => Math.floor(this.wallOffset + this.now)
    Math.random = random
    return () => {
      const { setTimeout, setInterval, clearTimeout, clearInterval } = real
      Object.assign(globalThis, { setTimeout, setInterval, clearTimeout, clearInterval })
      performance.now = real.performanceNow
      Date.now = real.dateNow
      Math.random = real.random
    }
  }

  /** The world's own timers, which are not counted. */
  after(ms: number, run: () => void): Timer {
    return this.#add(Math.max(0, ms), run, 0, false)
  }

  sleep(ms: number): Promise<void> {
    return new Promise(resolve => this.after(ms, resolve))
  }

  cancel(timer: unknown): void {
    if (!(timer instanceof Timer) || timer.cancelled) return
    timer.cancelled = true
    if (timer.ofClient) this.ofClient--
  }

  /** Runs the world until `isOver` says so, `endAt` is reached, or nothing is left that could happen. */
  run(isOver: () => boolean, endAt: number): Promise<'over' | 'late' | 'idle'> {
    return new Promise((resolve, reject) => {
      const step = () => {
        if (isOver()) return resolve('over')
        const timer = this.#next()
        if (timer === undefined) return resolve('idle')
        if (timer.at > endAt) return resolve('late')
        if (timer.at > this.now) this.now = timer.at
        try {
          this.#fire(timer)
        } catch (error) {
          return reject(error)
        }
        real.setImmediate(step)
      }
      real.setImmediate(step)
    })
  }

  /** One turn of the real event loop: everything happens that needs no time. */
  settle(): Promise<void> {
    return new Promise(resolve => real.setImmediate(resolve))
  }

  #fire(timer: Timer): void {
    if (timer.periodMs > 0) {
      timer.at = this.now + timer.periodMs
      this.#push(timer)
    } else {
      this.cancel(timer)
    }
    timer.run()
  }

  #add(delay: number, run: () => void, periodMs: number, ofClient: boolean): Timer {
    const timer = new Timer(this.#seq++, this.now + delay, run, periodMs, ofClient)
    if (ofClient) this.ofClient++
    this.#push(timer)
    return timer
  }

  /** Takes the first timer that was not cancelled off the heap. */
  #next(): Timer | undefined {
    for (;;) {
      const first = this.#pop()
      if (first === undefined || !first.cancelled) return first
    }
  }

  #push(timer: Timer): void {
    const heap = this.#heap
    let index = heap.push(timer) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(timer, heap[parent] as Timer)) break
      heap[index] = heap[parent] as Timer
      index = parent
    }
    heap[index] = timer
  }

  #pop(): Timer | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Timer, heap[child] as Timer)) child++
      if (!isBefore(heap[child] as Timer, last)) break
      heap[index] = heap[child] as Timer
      index = child
    }
    heap[index] = last
    return first
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.seq < other.seq)
}

function clampDelay(ms: number | undefined): number {
  return ms !== undefined && ms >= 1 && ms <= MAX_TIMER_MS ? ms : 1
}
