import { connect, type Socket } from 'node:net'
import { type DealtFault, MAX_TIMER_MS } from './chaos-faults.js'
import { Flow } from './chaos-flow.js'
import type { ConnectionRecord } from './chaos-records.js'
import { arrived } from './delivery.js'

export interface PairEvents {
  /** The dealt fault is due. */
  due: (pair: Pair, fault: DealtFault) => void
  unreachable: (pair: Pair, error: NodeJS.ErrnoException) => void
  closed: (pair: Pair) => void
}

/** Client and target of one relayed connection. */
export class Pair {
  readonly #client: Socket
  readonly #target: Socket
  readonly #up: Flow
  readonly #down: Flow
  readonly #events: PairEvents
  #open = 2
  /** Ended by us: what one socket does next is not told to the other. */
  #over = false
  /** The target has broken off while nothing passed. */
  #broken = false
  #heldUntil = 0
  #holdTimer: NodeJS.Timeout | undefined
  #dueTimer: NodeJS.Timeout | undefined
  #lost = false
  #settleTimer: NodeJS.Timeout | undefined

  constructor(
    readonly record: ConnectionRecord,
    client: Socket,
    target: { host: string; port: number },
    events: PairEvents,
  ) {
    this.#events = events
    this.#client = client
    this.#target = connect({ ...target, allowHalfOpen: true, noDelay: true })
    client.setNoDelay(true)
    this.#up = new Flow(client, this.#target, record.up)
    this.#down = new Flow(this.#target, client, record.down)
    this.#watch(client, this.#target)
    this.#watch(this.#target, client)
    // A client that leaves is gone, even when nothing passes: no connection outlives it.
    client.on('end', () => {
      if (this.#heldUntil > 0 || this.#lost || this.#down.stopping) this.destroy()
    })
  }

  /** Arms the fault that was dealt. Not from within the constructor: one without delay strikes before it returns. */
  begin(): void {
    const { dealt } = this.record
    if (dealt !== undefined && dealt.do !== 'pass') this.#arm(dealt)
  }

  /** It is being ended: nothing can strike it any more. */
  get over(): boolean {
    return this.#over
  }

  reset(): void {
    this.#end()
    breakOff(this.#client)
    breakOff(this.#target)
  }

  /** FIN to the client. */
  cut(): void {
    this.#end()
    this.#target.destroy()
    this.#client.end()
    // What the client still says is read, or the FIN would become a RST.
    this.#client.resume()
  }

  /** Calls `strike` in the middle of the next event, or of this one. */
  inside(fault: DealtFault, strike: () => void): void {
    this.#stopAt(this.record.bytesDown, fault, strike)
  }

  hold(ms: number | undefined): void {
    const until = ms === undefined ? Number.POSITIVE_INFINITY : performance.now() + ms
    if (until <= this.#heldUntil || this.record.closedAt !== undefined) return
    this.#heldUntil = until
    if (this.#client.readableEnded) {
      this.destroy()
      return
    }
    for (const flow of [this.#up, this.#down]) flow.hold()
    clearTimeout(this.#holdTimer)
    if (ms !== undefined) this.#holdTimer = setTimeout(() => this.release(), Math.min(ms, MAX_TIMER_MS))
  }

  release(): void {
    clearTimeout(this.#holdTimer)
    this.#heldUntil = 0
    if (this.#broken && !this.#lost) this.reset()
    for (const flow of [this.#up, this.#down]) flow.release()
  }

  /** Silent and open for good: neither end is told when the other one leaves, but a client that leaves ends it. */
  lose(): void {
    this.#lost = true
    if (this.#client.readableEnded) {
      this.destroy()
      return
    }
    for (const flow of [this.#up, this.#down]) flow.drop()
  }

  delay(ms: number): void {
    for (const flow of [this.#up, this.#down]) flow.delay(ms)
  }

  drip(bytes: number, everyMs: number): void {
    this.#down.drip(bytes, everyMs)
  }

  straighten(): void {
    for (const flow of [this.#up, this.#down]) flow.straighten()
  }

  destroy(): void {
    this.#end()
    this.#client.destroy()
    this.#target.destroy()
  }

  #arm(dealt: DealtFault): void {
    const { afterBytes = 0, afterMs, inside } = dealt
    // A connection that was lost stays silent, whatever had been dealt to it.
    const due = () => {
      if (!this.#over && !this.#lost) this.#events.due(this, dealt)
    }
    if (afterMs !== undefined)
      this.#dueTimer = setTimeout(inside === undefined ? due : () => this.inside(dealt, due), afterMs)
    else if (inside !== undefined || afterBytes > 0) this.#stopAt(afterBytes, dealt, due)
    else due()
  }

  #stopAt(at: number, { do: name, inside }: DealtFault, act: () => void): void {
    // A RST makes the client's system throw away what its process has not read.
    const settled = () => arrived(this.#client, ms => this.#sleep(ms))
    const ends = name === 'reset' || name === 'refuse'
    this.#down.stopAt({ at, inside: inside !== undefined, act, ...(ends && { settled }) })
  }

  /** Without end when the connection ends first. */
  #sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      this.#settleTimer = setTimeout(resolve, ms)
    })
  }

  #end(): void {
    this.#over = true
    clearTimeout(this.#holdTimer)
    clearTimeout(this.#dueTimer)
    clearTimeout(this.#settleTimer)
    for (const flow of [this.#up, this.#down]) flow.end()
  }

  #watch(socket: Socket, other: Socket): void {
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const byTarget = socket === this.#target
      if (byTarget && !this.#over && error.syscall !== 'read' && error.syscall !== 'write')
        this.#events.unreachable(this, error)
      if (byTarget && (this.#lost || this.#heldUntil > 0)) this.#broken = true
      else this.#leave(() => breakOff(other))
    })
    socket.once('close', () => {
      this.#open--
      if (this.#open === 0) {
        this.#end()
        this.record.closedAt = performance.now()
        this.#events.closed(this)
      } else if (!socket.readableEnded && !this.#broken) this.#leave(() => other.destroy())
    })
  }

  /** One end broke off: the other one is told in the same way. */
  #leave(tell: () => void): void {
    if (this.#over) return
    this.#end()
    tell()
  }
}

/** RST, where there can be one: not before the connection stands, and Node loses a socket whose FIN is just leaving. */
function breakOff(socket: Socket): void {
  if (socket.connecting || (socket.writableEnded && !socket.writableFinished)) socket.destroy()
  else socket.resetAndDestroy()
}
