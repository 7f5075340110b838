import type { VirtualClock } from '../../test/simulation/clock.ts'
import type { Network } from './network.ts'

export const CLIENTS = 10_000
export const ACCEPTS_PER_SECOND = 500
export const BACKLOG = 1_024

const OUTAGE_MS = 30_000
const INSTANCES = 10
const INSTANCE_EVERY_MS = 3_000
const RETRY_MS = 2_000

export interface Scenario {
  title: string
  /** What happens, once everybody is connected. Resolves when the server can do its work again. */
  strike(network: Network, clock: VirtualClock, clients: number): Promise<void>
  /** The pace that the server asks for in each stream; a server that breaks has not thought of one. */
  retryMs?: number
  /** Default `'dropped'`. */
  overflow?: 'refused'
  /** The server's own limit: how long it needs at least, from then on, until it has accepted all of them. */
  leastMs(clients: number): number
}

const acceptMs = (clients: number) => (clients * 1_000) / ACCEPTS_PER_SECOND

async function outage(network: Network, clock: VirtualClock): Promise<void> {
  network.up = false
  network.end('broken')
  await clock.sleep(OUTAGE_MS)
  network.up = true
}

export const SCENARIOS: Record<string, Scenario> = {
  outage: {
    title: 'an outage of 30 s',
    strike: outage,
    leastMs: acceptMs,
  },
  'outage-refused': {
    title: 'an outage of 30 s, behind a balancer that refuses what the server cannot take',
    overflow: 'refused',
    strike: outage,
    leastMs: acceptMs,
  },
  deploy: {
    title: 'a rolling deploy: ten instances, one every 3 s, end their streams politely',
    async strike(network, clock, clients) {
      for (let instance = 0; instance < INSTANCES; instance++) {
        // Not awaited: the storm is watched from the first end on.
        clock.after(instance * INSTANCE_EVERY_MS, () => network.end('ended', clients / INSTANCES))
      }
    },
    retryMs: RETRY_MS,
    leastMs: clients => (INSTANCES - 1) * INSTANCE_EVERY_MS + acceptMs(clients / INSTANCES),
  },
  'all-at-once': {
    title: 'all streams ended politely in one instant',
    async strike(network) {
      network.end('ended')
    },
    retryMs: RETRY_MS,
    leastMs: acceptMs,
  },
}
