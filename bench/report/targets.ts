import type { AdapterResults } from '../adapters/cells.ts'
import { adapterRatio } from '../adapters/report.ts'
import type { GrowthResults } from '../growth/cells.ts'
import { growthOf } from '../growth/report.ts'
import type { IdleResults } from '../idle/cells.ts'
import { idleMedian, kib } from '../idle/report.ts'
import type { Saved } from '../measure/cell.ts'
import type { Benchmarks } from '../measure/store.ts'
import type { RecoveryResults } from '../recovery/faults/cell.ts'
import { worst } from '../recovery/faults/report.ts'
import type { StormResults } from '../storm/cells.ts'
import { stormOf } from '../storm/report.ts'
import type { ThroughputResults } from '../throughput/cells.ts'
import { BATCHES, FLOOR, FOR_AWAIT, throughputOf } from '../throughput/report.ts'
import { count, ratio } from './markdown.ts'
import type { Target } from './target.ts'

/** "Flat" allows for what a machine does not repeat. */
const FLAT = 1.1
/** Of one processor, beyond what bare fetches use in the same silence. */
const NO_CPU = 0.005

const STORMS = {
  outage: 'an outage',
  'outage-refused': 'an outage, behind a balancer',
  deploy: 'a deploy',
}

/** Every promise, in the order of the page; those whose cell has not run are "not measured". */
export function targetsOf(benchmarks: Benchmarks): Target[] {
  const of = <Results>(cell: string) => benchmarks[cell] as Saved<Results> | undefined
  return [
    ...throughputTargets(cell => of<ThroughputResults>(`throughput/${cell}`)),
    ...idleTargets(streams => of<IdleResults>(`idle/${streams}`)),
    ...recoveryTargets(of<RecoveryResults>('recovery/faults')),
    ...Object.entries(STORMS).flatMap(([name, when]) =>
      stormTargets(when, of<StormResults>(`storm/${name}`)),
    ),
    ...adapterTargets(cell => of<AdapterResults>(`adapters/${cell}`)),
    ...growthTargets(cell => of<GrowthResults>(`growth/${cell}`)),
  ]
}

const target = (what: string, limit: number, measured: number, show: Target['show'] = ratio): Target => ({
  what,
  limit,
  measured,
  show,
})

function throughputTargets(saved: (cell: string) => Saved<ThroughputResults> | undefined): Target[] {
  const ofFastest = (cell: string, client: string) => {
    const found = saved(cell)
    return found === undefined ? Number.NaN : throughputOf(found).ofFastest(client)
  }
  const base = saved('base')
  const ofFloor = (client: string) => (base === undefined ? Number.NaN : throughputOf(base).ofFloor(client))
  const peer = (what: string, limit: number, cell: string, client = FOR_AWAIT) =>
    target(`${what}, of the fastest peer`, limit, ofFastest(cell, client))
  return [
    peer('`for await`', 0.85, 'base'),
    target('`for await`, of the floor', 1.1, ofFloor(FOR_AWAIT)),
    peer('`for await` on the newest Node', 0.95, 'newest'),
    peer('`batches()`', 0.7, 'base', BATCHES),
    target('`batches()`, of the floor', 0.95, ofFloor(BATCHES)),
    peer('`batches()` on the newest Node', 0.8, 'newest', BATCHES),
    peer('one event a chunk', 1, 'one-a-chunk'),
    peer('1,460-byte chunks', 1, 'small-chunks'),
    peer('UTF-8', 1, 'utf-8'),
    peer('1 MiB events', 0.8, '1-mib'),
    peer('after a reconnect', 1, 'reconnected'),
  ]
}

function idleTargets(saved: (streams: number) => Saved<IdleResults> | undefined): Target[] {
  const of = (streams: number, client: string, figure: Parameters<typeof idleMedian>[2]) => {
    const found = saved(streams)
    return found === undefined ? Number.NaN : idleMedian(found, client, figure)
  }
  const beyond = of(10_000, FOR_AWAIT, 'quietShare') - of(10_000, FLOOR, 'quietShare')
  const moreTimers = of(5_000, FOR_AWAIT, 'timers') - of(1_000, FOR_AWAIT, 'timers')
  const growth = of(10_000, FOR_AWAIT, 'bytesPerStream') / of(5_000, FOR_AWAIT, 'bytesPerStream')
  return [
    target('memory of an idle stream, of 10,000', 32 * 1_024, of(10_000, FOR_AWAIT, 'bytesPerStream'), kib),
    target(
      'CPU of 10,000 silent streams, beyond bare fetches',
      NO_CPU,
      beyond,
      share => `${(share * 100).toFixed(2)} %`,
    ),
    target('timers of 5,000 streams, beyond those of 1,000', 0, moreTimers, count),
    target('memory per stream, 10,000 of 5,000', FLAT, growth),
  ]
}

function recoveryTargets(saved: Saved<RecoveryResults> | undefined): Target[] {
  const verdicts = saved?.results.faults.map((_, fault) =>
    worst(saved.results.rounds[FOR_AWAIT] ?? [], fault),
  )
  const sum = (of: (verdict: NonNullable<typeof verdicts>[number]) => number) =>
    verdicts === undefined ? Number.NaN : verdicts.reduce((total, verdict) => total + of(verdict), 0)
  return [
    target(
      'events lost, over all faults',
      0,
      sum(({ lost }) => lost),
      count,
    ),
    target(
      'events doubled',
      0,
      sum(({ doubled }) => doubled),
      count,
    ),
    target(
      'streams hung or given up',
      0,
      sum(({ end }) => (end === 'recovered' ? 0 : 1)),
      count,
    ),
  ]
}

function stormTargets(when: string, saved: Saved<StormResults> | undefined): Target[] {
  const { peakShare, backShare } =
    saved === undefined ? { peakShare: Number.NaN, backShare: Number.NaN } : stormOf(saved, FOR_AWAIT)
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`
  return [
    target(`storm after ${when}: peak of dials in 100 ms`, 0.01, peakShare, percent),
    target("the same: all back, of the server's own limit", 1.5, backShare),
  ]
}

function adapterTargets(saved: (cell: string) => Saved<AdapterResults> | undefined): Target[] {
  const of = (what: string, limit: number, cell: string, client: string) => {
    const found = saved(cell)
    return target(what, limit, found === undefined ? Number.NaN : adapterRatio(found, client))
  }
  return [
    of('`EventSource`, of eventsource', 1, 'eventsource', 'resilient-sse/eventsource'),
    of('`resilientFetch`, of plain fetch', 1.3, 'fetch', 'resilientFetch + decoder + parser'),
    of('`mcpFetch`, of the SDK v1 alone', 1.5, 'mcp', 'SDK v1 with mcpFetch'),
    of('`mcpFetch`, of the SDK v2 alone', 1.5, 'mcp', 'SDK v2 with mcpFetch'),
  ]
}

function growthTargets(saved: (cell: string) => Saved<GrowthResults> | undefined): Target[] {
  const growth = (cell: string, figure: 'cpuNsPerEvent' | 'rssBytes', from: number, client = FOR_AWAIT) => {
    const found = saved(cell)
    const values = found === undefined ? [] : growthOf(found, client, figure)
    return (values.at(-1) ?? Number.NaN) / (values[from] ?? Number.NaN)
  }
  const ofStreams = growth('streams', 'cpuNsPerEvent', 0) / growth('streams', 'cpuNsPerEvent', 0, FLOOR)
  return [
    // The first million pays for the compiler.
    target('CPU per event, the tenth million of the second', FLAT, growth('events', 'cpuNsPerEvent', 1)),
    target('memory, after ten million events of after two', FLAT, growth('events', 'rssBytes', 1)),
    target("CPU per event, 10,000 streams of one, beside the floor's own growth", FLAT, ofStreams),
  ]
}
