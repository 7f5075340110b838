import type { Saved } from '../measure/cell.ts'
import { failed, median } from '../measure/rounds.ts'
import { count, ratio, table } from '../report/markdown.ts'
import type { ThroughputResults } from './cells.ts'
import type { ThroughputRound } from './run.ts'

export const FLOOR = 'fetch + decoder + parser'
export const FOR_AWAIT = 'resilient-sse'
export const BATCHES = 'resilient-sse batches'
const NOT_PEERS = new Set([FOR_AWAIT, BATCHES, FLOOR, 'fetch, bytes only'])

/** What one cell says, in the unit of the page. */
export interface Throughput {
  title: string
  /** Median CPU nanoseconds per event; clients that failed are missing. */
  medians: Map<string, number>
  ranges: Map<string, string>
  failures: Map<string, string>
  fastestPeer: string
  ofFastest(client: string): number
  ofFloor(client: string): number
}

export function throughputOf({ title, results }: Saved<ThroughputResults>): Throughput {
  const medians = new Map<string, number>()
  const ranges = new Map<string, string>()
  const failures = new Map<string, string>()
  for (const [client, rounds] of Object.entries(results.rounds)) {
    const lost = rounds.find(failed)
    if (lost !== undefined) failures.set(client, lost.failed)
    else set(client, rounds as ThroughputRound[])
  }
  function set(client: string, rounds: ThroughputRound[]) {
    const values = rounds.map(round => round.cpuNsPerEvent)
    medians.set(client, median(values))
    ranges.set(client, `${count(Math.min(...values))}–${count(Math.max(...values))}`)
  }
  const peers = [...medians].filter(([client]) => !NOT_PEERS.has(client)).sort(([, a], [, b]) => a - b)
  const [fastestPeer, least] = peers[0] ?? ['none', Number.NaN]
  const of = (client: string, base: number) => (medians.get(client) ?? Number.NaN) / base
  return {
    title,
    medians,
    ranges,
    failures,
    fastestPeer,
    ofFastest: client => of(client, least),
    ofFloor: client => of(client, medians.get(FLOOR) ?? Number.NaN),
  }
}

/** Nanoseconds below a microsecond, and so on: an event of 1 MiB takes milliseconds. */
export function time(ns: number): string {
  if (ns < 10_000) return `${Math.round(ns)} ns`
  return ns < 10_000_000 ? `${count(ns / 1_000)} µs` : `${count(ns / 1_000_000)} ms`
}

export function throughputTable(saved: Saved<ThroughputResults>): string {
  const of = throughputOf(saved)
  const rows = [...of.medians]
    .sort(([, a], [, b]) => a - b)
    .map(([client, ns]) => [client, time(ns), ratio(of.ofFastest(client)), ratio(of.ofFloor(client))])
  const failures = [...of.failures].map(([client, why]) => [client, why, '—', '—'])
  return table(['client', 'CPU per event', 'of the fastest peer', 'of the floor'], [...rows, ...failures])
}
