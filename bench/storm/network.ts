import type { VirtualClock } from '../../test/simulation/clock.ts'

/** A connection that a client has; `over` tells how it ends. */
export interface Connection {
  over: Promise<'broken' | 'ended'>
  end(how: 'broken' | 'ended'): void
}

export interface NetworkOptions {
  acceptsPerSecond: number
  /** Dials that may wait for being accepted. */
  backlog: number
  /**
   * What becomes of those beyond. Linux drops them, and the client's kernel asks again; a balancer in front of the server
   * refuses them.
   */
  overflow: 'dropped' | 'refused'
  /** What the server asks for in each stream. */
  retryMs: number | undefined
}

const LATENCY_MS = { least: 2, spread: 30 }
/** When Linux sends a SYN again that was not answered, until clients give up after 10 s. */
const SYN_AGAIN_MS = [1_000, 2_000, 4_000]
const GIVEN_UP_MS = 3_000

/** A server behind a network, both on a virtual clock, and an account of every dial. */
export class Network {
  /** When each dial reached the server or what stood in its place, and whether it became a connection. */
  readonly dials: { at: number; opened: boolean }[] = []
  readonly connections = new Set<Connection>()
  readonly retryMs: number | undefined
  up = true
  /** While the crowd gathers nobody waits. */
  limited = false
  readonly #clock: VirtualClock
  readonly #options: NetworkOptions
  #nextFreeAt = 0

  constructor(clock: VirtualClock, options: NetworkOptions) {
    this.#clock = clock
    this.#options = options
    this.retryMs = options.retryMs
  }

  /** @throws what fetch does when nobody answers. */
  async dial(): Promise<Connection> {
    const clock = this.#clock
    await clock.sleep(LATENCY_MS.least + LATENCY_MS.spread * Math.random())
    const dial = { at: clock.now, opened: false }
    this.dials.push(dial)
    const waitMs = await this.#syn()
    await clock.sleep(waitMs)
    // It may have gone down meanwhile.
    if (!this.up) throw networkError('ECONNREFUSED')
    dial.opened = true
    return this.#open()
  }

  /** Knocks until there is room: how long this dial then waits until it is accepted. */
  async #syn(): Promise<number> {
    for (const againMs of [...SYN_AGAIN_MS, GIVEN_UP_MS]) {
      const waitMs = this.#admit()
      if (waitMs !== undefined) return waitMs
      if (!this.up || this.#options.overflow === 'refused') throw networkError('ECONNREFUSED')
      await this.#clock.sleep(againMs)
    }
    throw networkError('ETIMEDOUT')
  }

  /** How long this dial waits until it is accepted. */
  #admit(): number | undefined {
    if (!this.up) return undefined
    if (!this.limited) return 0
    const { acceptsPerSecond, backlog } = this.#options
    const perAcceptMs = 1_000 / acceptsPerSecond
    const queueMs = Math.max(0, this.#nextFreeAt - this.#clock.now)
    if (queueMs > backlog * perAcceptMs) return undefined
    this.#nextFreeAt = this.#clock.now + queueMs + perAcceptMs
    return queueMs + perAcceptMs
  }

  #open(): Connection {
    let end: Connection['end'] = () => {}
    const over = new Promise<'broken' | 'ended'>(resolve => {
      end = how => {
        this.connections.delete(connection)
        resolve(how)
      }
    })
    const connection = { over, end }
    this.connections.add(connection)
    return connection
  }

  /** Ends some connections, of those that are open the oldest. */
  end(how: 'broken' | 'ended', count = Number.POSITIVE_INFINITY): void {
    for (const connection of [...this.connections].slice(0, count)) connection.end(how)
  }
}

function networkError(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(`connect ${code}`), { code }) })
}
