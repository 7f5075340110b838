import type { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'

/** What may wait here before the sender is made to wait, in bytes. Beside it one read (64 KiB) may be in hand. */
const LIMIT_BYTES = 65_536
/** The same while pieces are delayed: a line of 100 ms holds this much at 10 MB/s. */
const DELAYED_LIMIT_BYTES = 1_048_576
const DATA_LINE = '\ndata:'

/** A position at which something is done. */
export interface Stop {
  /** Bytes passed on. */
  at: number
  /** Not there but at the next place in the middle of a `data:` line. */
  inside: boolean
  /** Waited for when the kernel has taken every byte before the position. */
  settled?: () => Promise<void>
  act: () => void
}

/** Counts the bytes that were passed on, and outlives the flow. */
export interface Meter {
  passed: number
}

/**
 * One direction of a relayed connection: bytes from one socket to the other, with back-pressure and bounded memory, which can be held,
 * dropped, delayed, dripped, and stopped at a position.
 */
export class Flow {
  readonly #meter: Meter
  readonly #from: Socket
  readonly #to: Socket
  readonly #queue: { bytes: Buffer; due: number }[] = []
  #queued = 0
  /** The sender's FIN has come. */
  #fin = false
  #finPassed = false
  #over = false
  #held = false
  #dropping = false
  #delayMs = 0
  #drip: { bytes: number; everyMs: number } | undefined
  #nextDripAt = 0
  #stop: Stop | undefined
  #stopping = false
  #timer: NodeJS.Timeout | undefined

  constructor(from: Socket, to: Socket, meter: Meter) {
    this.#meter = meter
    this.#from = from
    this.#to = to
    from.on('data', (bytes: Buffer) => {
      if (this.#dropping || this.#over) return
      this.#queue.push({ bytes, due: this.#delayMs && performance.now() + this.#delayMs })
      this.#queued += bytes.length
      this.#pump()
    })
    from.on('end', () => {
      this.#fin = true
      this.#pump()
    })
    to.on('drain', () => this.#pump())
  }

  /** Whether it stands at a position, and what is to be done there has not been done. */
  get stopping(): boolean {
    return this.#stopping
  }

  /** Passes nothing on until {@link release}. */
  hold(): void {
    this.#held = true
    clearTimeout(this.#timer)
  }

  release(): void {
    this.#held = false
    this.#pump()
  }

  /** Swallows everything, what waits here too, for good: a gap in the middle would be worse than silence. */
  drop(): void {
    this.#dropping = true
    this.#clear()
    this.#from.resume()
  }

  delay(ms: number): void {
    this.#delayMs = ms
  }

  drip(bytes: number, everyMs: number): void {
    this.#drip = { bytes, everyMs }
    this.#pump()
  }

  /** Ends delays and drips; what waits goes on at once. */
  straighten(): void {
    this.#delayMs = 0
    this.#drip = undefined
    for (const piece of this.#queue) piece.due = 0
    this.#pump()
  }

  /** Acts once at a position; nothing is passed on before that is done. */
  stopAt(stop: Stop): void {
    this.#stop = stop
    this.#pump()
  }

  /** Nothing is passed on, or kept, any more. */
  end(): void {
    this.#over = true
    this.#stop = undefined
    this.#clear()
  }

  #clear(): void {
    clearTimeout(this.#timer)
    this.#queue.length = 0
    this.#queued = 0
  }

  #pump(): void {
    if (this.#over || this.#dropping) return
    clearTimeout(this.#timer)
    while (!this.#held && this.#mayPass()) {
      const piece = this.#queue[0]
      if (piece === undefined || this.#to.writableNeedDrain) break
      const now = performance.now()
      const waitMs = Math.max(piece.due, this.#drip === undefined ? 0 : this.#nextDripAt) - now
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#pump(), Math.ceil(waitMs))
        break
      }
      if (this.#drip !== undefined) this.#nextDripAt = now + this.#drip.everyMs
      this.#pass(piece)
    }
    if (this.#over) return
    if (this.#queued >= (this.#delayMs > 0 ? DELAYED_LIMIT_BYTES : LIMIT_BYTES)) this.#from.pause()
    else if (this.#from.isPaused()) this.#from.resume()
    if (!this.#fin || this.#finPassed || this.#queued > 0 || this.#held || this.#stopping) return
    this.#finPassed = true
    this.#to.end()
  }

  /** Whether there is room before the position at which to stop; at the position it is acted upon. */
  #mayPass(): boolean {
    if (this.#stopping) return false
    if (this.#stop === undefined || this.#stop.inside || this.#meter.passed < this.#stop.at) return true
    this.#act()
    return false
  }

  #pass(piece: { bytes: Buffer }): void {
    const { bytes } = piece
    if (this.#stop?.inside) {
      const middle = middleOfData(bytes, Math.max(0, this.#stop.at - this.#meter.passed))
      if (middle !== undefined) this.#stop = { ...this.#stop, at: this.#meter.passed + middle, inside: false }
    }
    const room =
      this.#stop === undefined || this.#stop.inside ? bytes.length : this.#stop.at - this.#meter.passed
    const length = Math.min(bytes.length, room, this.#drip?.bytes ?? bytes.length)
    this.#to.write(length === bytes.length ? bytes : bytes.subarray(0, length))
    this.#meter.passed += length
    this.#queued -= length
    if (length === bytes.length) this.#queue.shift()
    else piece.bytes = bytes.subarray(length)
    if (this.#stop?.inside === false && this.#meter.passed >= this.#stop.at) this.#act()
  }

  #act(): void {
    const stop = this.#stop
    if (stop === undefined) return
    this.#stop = undefined
    this.#stopping = true
    const act = () => {
      if (this.#over) return
      this.#stopping = false
      stop.act()
      this.#pump()
    }
    const settle = () => {
      if (this.#over) return
      if (stop.settled === undefined) act()
      else stop.settled().then(act)
    }
    // A RST would take along what the kernel does not have yet.
    if (this.#to.writableLength === 0) settle()
    else this.#to.write('', settle)
  }
}

/** A place in the middle of the first `data:` line that has one, from `from` on. */
function middleOfData(bytes: Buffer, from: number): number | undefined {
  for (
    let start = bytes.indexOf(DATA_LINE, from);
    start !== -1;
    start = bytes.indexOf(DATA_LINE, start + 1)
  ) {
    const text = start + DATA_LINE.length
    const newline = bytes.indexOf('\n', text)
    const end = newline === -1 ? bytes.length : newline
    if (end - text >= 2) return text + ((end - text) >> 1)
  }
  return undefined
}
