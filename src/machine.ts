import { setMaxListeners } from 'node:events'
import { networkInterfaces, uptime } from 'node:os'

let addresses: ReadonlySet<string> = new Set()

/** What the watchdog asks the machine about. */
export const machine = {
  /**
   * Time since boot, in milliseconds, sleep included. Unlike the wall clock it does not move when the clock is set, so
   * an NTP step is never taken for a sleep.
   */
  uptimeMs(): number {
    return uptime() * 1_000
  },

  /** The machine's own addresses; the same object as long as they are the same. */
  addresses(): ReadonlySet<string> {
    const now = new Set<string>()
    for (const list of Object.values(networkInterfaces())) {
      for (const { address } of list ?? []) now.add(address)
    }
    if (now.size !== addresses.size || [...now].some(address => !addresses.has(address))) addresses = now
    return addresses
  },

  /** A look that comes this late was held up by more than a busy event loop: the machine slept. */
  frozenMs: 30_000,

  /** A timer may come this late although the event loop is free. */
  throttledMs: 0,

  /** Calls back when the platform tells that the network may be another one, until the returned function is called. */
  onWake(_callback: () => void): () => void {
    return () => {}
  },

  /** One signal may end any number of streams: Node would warn of the eleventh. */
  allowListeners(signal: AbortSignal): void {
    // Not 0, which means the same: Node's getMaxListeners() then takes the signal for none, and undici's fetch, which asks, throws.
    setMaxListeners(Number.POSITIVE_INFINITY, signal)
  },

  /** Runs after the event loop has looked at its sockets once. */
  afterPoll(callback: () => void): void {
    setImmediate(callback)
  },
}
