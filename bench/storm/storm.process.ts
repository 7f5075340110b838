// One strategy through one scenario, in virtual time: chance, clocks and timers of this process are the simulation's.

import { seeded } from '../../test/random.ts'
import { VirtualClock } from '../../test/simulation/clock.ts'
import { Network } from './network.ts'
import { ACCEPTS_PER_SECOND, BACKLOG, SCENARIOS } from './scenarios.ts'
import { STRATEGIES } from './strategies.ts'

export interface StormOrder {
  strategy: string
  scenario: string
  clients: number
  seed: number
}

export interface StormRound {
  /** The most dials in any 100 ms since the server is there again, as a share of the clients. */
  peakShare: number
  /** From then until all were connected; none if they were not within the limit. */
  backMs: number | undefined
  /** Dials that did not become a connection, per client, since the beginning. */
  wastedPerClient: number
  /** Dials in each {@link BIN_MS} since the server is there again. */
  dials: number[]
}

const BIN_MS = 500
const GATHERING_MS = 10_000
const STRIKE_AT_MS = 15_000
/** Nobody is waited for beyond. */
const LIMIT_MS = 240_000
const PEAK_MS = 100

const { strategy, scenario, clients, seed } = JSON.parse(process.argv[2] as string) as StormOrder
process.once('disconnect', () => process.exit())
const clock = new VirtualClock()
clock.install(seeded(seed))
const run = STRATEGIES[strategy]
const { strike, retryMs, overflow = 'dropped' } = SCENARIOS[scenario] ?? {}
const limits = { acceptsPerSecond: ACCEPTS_PER_SECOND, backlog: BACKLOG }
const network = new Network(clock, { ...limits, overflow, retryMs })
if (run === undefined || strike === undefined) throw new Error(`no ${strategy} or no ${scenario}`)

for (let client = 0; client < clients; client++) {
  clock.after((client * GATHERING_MS) / clients, () => void run(network, clock))
}
let struckAt = 0
/** When the server could do its work again. */
let againAt = Number.POSITIVE_INFINITY
let backAt: number | undefined
clock.after(STRIKE_AT_MS, async () => {
  if (network.connections.size !== clients) throw new Error(`only ${network.connections.size} have gathered`)
  network.limited = true
  struckAt = clock.now
  await strike(network, clock, clients)
  againAt = clock.now
  watch()
})

/** Whether all are back, looked at until they are for a while: a deploy ends streams again and again. */
function watch(): void {
  if (network.connections.size < clients) backAt = undefined
  else backAt ??= clock.now
  clock.after(10, watch)
}

const isOver = () => backAt !== undefined && clock.now > backAt + 10_000
await clock.run(isOver, STRIKE_AT_MS + LIMIT_MS)

const since = network.dials.filter(({ at }) => at >= struckAt)
const times = since.map(({ at }) => at - againAt).filter(at => at >= 0)
const round: StormRound = {
  peakShare: peakOf(times) / clients,
  backMs: backAt === undefined ? undefined : backAt - againAt,
  wastedPerClient: since.filter(({ opened }) => !opened).length / clients,
  dials: binned(times),
}
process.send?.(round, () => process.exit())

/** The most of these times, which are in order, within {@link PEAK_MS}. */
function peakOf(times: number[]): number {
  let most = 0
  for (let first = 0, last = 0; last < times.length; last++) {
    while ((times[last] as number) - (times[first] as number) >= PEAK_MS) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

function binned(times: number[]): number[] {
  const bins: number[] = []
  for (const time of times) {
    const bin = Math.floor(time / BIN_MS)
    while (bins.length <= bin) bins.push(0)
    bins[bin] = (bins[bin] as number) + 1
  }
  return bins
}
