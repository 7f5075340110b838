import type { Socket } from 'node:net'
import { Pair } from './chaos-connection.js'
import {
  type ChaosFault,
  type ChaosFaultName,
  type DealtFault,
  deal,
  detailOf,
  MAX_TIMER_MS,
} from './chaos-faults.js'
import { type ChaosRelayOptions, checkFault, type ResolvedChaos, resolveChaos } from './chaos-options.js'
import { type ChaosConnection, type ChaosRecord, ConnectionRecord, Recent } from './chaos-records.js'
import { answerChaosRelay, type ChaosSpawnOptions, RemoteChaosRelay } from './chaos-remote.js'
import { ChaosSchedule } from './chaos-schedule.js'
import { serveParent } from './child.js'
import { Listener } from './listener.js'
import { random } from './text.js'

/** At least so many records, and so many connections, are remembered. */
const REMEMBERED = 10_000

/** A TCP relay before a real server that breaks its connections on a seeded schedule; see {@link chaosRelay}. */
export class ChaosRelay {
  readonly #options: ResolvedChaos
  readonly #schedule: ChaosSchedule
  readonly #listener: Listener
  readonly #open = new Set<Pair>()
  readonly #faults = new Recent<ChaosRecord>(REMEMBERED)
  readonly #connections = new Recent<ChaosConnection>(REMEMBERED)
  readonly #random: () => number
  #accepted = 0
  #silentUntil = 0
  #refusedUntil = 0
  #whenEmpty: (() => void) | undefined

  private constructor(options: ChaosRelayOptions) {
    const resolved = resolveChaos(options)
    this.#options = resolved
    this.#schedule = new ChaosSchedule(resolved.faults, resolved.seed, resolved.rounds)
    this.#random = random(resolved.seed ^ 0x57a1ce)
    // Half-open: a FIN is passed on as what it is.
    this.#listener = new Listener([resolved.host], resolved.port, socket => this.#accept(socket), {
      allowHalfOpen: true,
    })
  }

  /** Use {@link chaosRelay}. */
  static async start(options: ChaosRelayOptions): Promise<ChaosRelay> {
    const relay = new ChaosRelay(options)
    await relay.#listener.open()
    return relay
  }

  /** @internal What the spawned process runs. */
  static serveRelayParent(): void {
    serveParent((options: ChaosRelayOptions) => ChaosRelay.start(options), answerChaosRelay)
  }

  /** The target's URL with the relay's address in place of its own; for a target without scheme `http://…/`. */
  get url(): string {
    return this.#options.urlOf(this.#options.host, this.port)
  }

  /** The port; it stays the same while connections are refused. */
  get port(): number {
    return this.#listener.port
  }

  /** What the relay did, in order: the last 10,000 records at least. */
  get faults(): readonly ChaosRecord[] {
    return this.#faults.entries
  }

  /** The connections that clients made, in order: the last 10,000 at least. The records are live until `closedAt` is set. */
  get connections(): readonly ChaosConnection[] {
    return this.#connections.entries
  }

  /** How many connections are open at this moment. */
  get openConnections(): number {
    return this.#open.size
  }

  /**
   * Strikes at once: all open connections, or the one with this index. `pass` ends stalls, delays and drips, and lets
   * refused clients in. A strike inside an event waits for one; timing (`afterBytes`, `times` …) does not apply. Returns how
   * many connections were struck.
   */
  strike(fault: ChaosFault | ChaosFaultName, { connection }: { connection?: number } = {}): number {
    const checked = checkFault(fault, 'strike', this.#options.secure)
    const struck = this.#alive().filter(
      ({ record }) => connection === undefined || record.index === connection,
    )
    const dealt = deal(checked, this.#random)
    if (dealt.inside !== undefined)
      for (const pair of struck) pair.inside(dealt, () => this.#strike(dealt, [pair], 'order'))
    else this.#strike(dealt, struck, 'order')
    return struck.length
  }

  /** Ends everything: sockets, listener, timers. */
  async close(): Promise<void> {
    this.#listener.close()
    for (const pair of [...this.#open]) pair.destroy()
    if (this.#open.size === 0) return
    await new Promise<void>(resolve => {
      const earlier = this.#whenEmpty
      this.#whenEmpty = () => {
        earlier?.()
        resolve()
      }
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #accept(socket: Socket): void {
    const index = this.#accepted++
    const record = new ConnectionRecord(index, socket.remotePort, this.#schedule.faultOf(index))
    this.#connections.add(record)
    const pair = new Pair(record, socket, this.#options.target, {
      due: (struck, fault) => this.#strike(fault, this.#reach(struck, fault), 'schedule'),
      unreachable: (struck, { code, message }) =>
        this.#record('unreachable', struck, 'schedule', code ?? message),
      closed: closed => {
        this.#open.delete(closed)
        if (this.#open.size === 0) this.#whenEmpty?.()
      },
    })
    this.#open.add(pair)
    const silentMs = this.#silentUntil - performance.now()
    if (silentMs > 0) pair.hold(silentMs)
    pair.begin()
  }

  #alive(): Pair[] {
    return [...this.#open].filter(pair => !pair.over)
  }

  /** A blackhole is the path's, whichever connection it was dealt to. */
  #reach(pair: Pair, fault: DealtFault): Pair[] {
    return fault.do === 'blackhole' ? this.#alive() : [pair]
  }

  #strike(fault: DealtFault, pairs: readonly Pair[], by: ChaosRecord['by']): void {
    const detail = detailOf(fault)
    // Recorded first: the end of a connection must not overtake the word of what ended it.
    for (const pair of pairs) this.#record(fault.do, pair, by, detail)
    if (pairs.length === 0 && (fault.do === 'blackhole' || fault.do === 'refuse'))
      this.#record(fault.do, undefined, by, detail)
    if (fault.do === 'blackhole')
      this.#silentUntil = Math.max(this.#silentUntil, performance.now() + (fault.ms ?? 0))
    if (fault.do === 'refuse') this.#refuse(fault.ms ?? 0)
    if (fault.do === 'pass') this.#admit()
    for (const pair of pairs) APPLY[fault.do](pair, fault)
  }

  #refuse(ms: number): void {
    const until = performance.now() + ms
    if (until <= this.#refusedUntil) return
    this.#refusedUntil = until
    this.#listener.refuse(Math.min(ms, MAX_TIMER_MS))
  }

  #admit(): void {
    this.#silentUntil = 0
    this.#refusedUntil = 0
    // Should the port be lent to somebody at this moment, the listener tries again by itself.
    if (!this.#listener.listening) this.#listener.refuse(0)
  }

  #record(
    fault: ChaosRecord['fault'],
    pair: Pair | undefined,
    by: ChaosRecord['by'],
    detail: string | undefined,
  ): void {
    const record: ChaosRecord = {
      fault,
      connection: pair?.record.index,
      at: performance.now(),
      bytesDown: pair?.record.bytesDown ?? 0,
      bytesUp: pair?.record.bytesUp ?? 0,
      by,
      detail,
    }
    this.#faults.add(record)
    this.#options.onStrike(record)
  }
}

const APPLY: Record<ChaosFaultName, (pair: Pair, fault: DealtFault) => void> = {
  reset: pair => pair.reset(),
  refuse: pair => pair.reset(),
  cut: pair => pair.cut(),
  stall: (pair, { ms }) => pair.hold(ms),
  blackhole: (pair, { ms, bytes }) => (bytes === 'drop' ? pair.lose() : pair.hold(ms)),
  delay: (pair, { ms = 0 }) => pair.delay(ms),
  drip: (pair, { bytes, everyMs }) => pair.drip(bytes as number, everyMs as number),
  pass: pair => {
    pair.straighten()
    pair.release()
  },
}

/**
 * Puts a relay before a real server and breaks its connections: resets, cuts, stalls, delays, drips, blackholes and
 * refusals on a schedule that a seed decides. HTTP or TLS, the bytes are opaque.
 *
 * ```ts
 * await using relay = await chaosRelay({ target: 'http://127.0.0.1:3000/events', faults: ['reset', 'cut'], seed: 7 })
 * const stream = new ResilientSse(relay.url)
 * ```
 *
 * @throws ChaosOptionError naming the option
 */
export async function chaosRelay(options: ChaosRelayOptions): Promise<ChaosRelay> {
  return ChaosRelay.start(options)
}

/** The same in a process of its own, so that client and relay do not share an event loop; its methods return promises. */
chaosRelay.spawn = (options: ChaosSpawnOptions): Promise<RemoteChaosRelay> => RemoteChaosRelay.spawn(options)
