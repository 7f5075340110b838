import type { IdleResults } from '../../idle/cells.ts'
import { idleMedian } from '../../idle/report.ts'
import type { Saved } from '../../measure/cell.ts'
import { failed } from '../../measure/rounds.ts'
import type { Benchmarks } from '../../measure/store.ts'
import type { RecoveryResults } from '../../recovery/faults/cell.ts'
import { inWords, worst } from '../../recovery/faults/report.ts'
import type { StormResults } from '../../storm/cells.ts'
import type { ThroughputResults } from '../../throughput/cells.ts'
import { throughputOf } from '../../throughput/report.ts'

// What the charts show, apart from how they show it: a test compares this with the files without drawing anything.

const get = <Results>(benchmarks: Benchmarks, cell: string) => benchmarks[cell] as Saved<Results> | undefined

export function throughputData(benchmarks: Benchmarks) {
  return Object.entries(benchmarks).flatMap(([name, saved]) => {
    if (!name.startsWith('throughput/')) return []
    const of = throughputOf(saved as Saved<ThroughputResults>)
    return [...of.medians.keys()].map(client => ({
      cell: of.title,
      client,
      ratio: round(of.ofFastest(client)),
    }))
  })
}

export function recoveryData(benchmarks: Benchmarks) {
  const results = get<RecoveryResults>(benchmarks, 'recovery/faults')?.results
  if (results === undefined) return []
  return Object.entries(results.rounds).flatMap(([client, rounds]) =>
    results.faults.map((fault, index) => ({ client, fault, outcome: inWords(worst(rounds, index)) })),
  )
}

export function stormData(benchmarks: Benchmarks) {
  return ['outage', 'deploy'].flatMap(scenario => {
    const saved = get<StormResults>(benchmarks, `storm/${scenario}`)
    return Object.entries(saved?.results.rounds ?? {}).flatMap(([strategy, [round]]) =>
      round === undefined || failed(round)
        ? []
        : round.dials.map((dials, bin) => ({ scenario, strategy, second: bin / 2, dials })),
    )
  })
}

export function idleData(benchmarks: Benchmarks) {
  const saved = get<IdleResults>(benchmarks, 'idle/10000-all') ?? get<IdleResults>(benchmarks, 'idle/10000')
  return Object.keys(saved?.results.rounds ?? {}).map(client => ({
    client,
    kib: round(idleMedian(saved as Saved<IdleResults>, client, 'bytesPerStream') / 1_024),
  }))
}

const round = (value: number) => Number(value.toPrecision(3))

/** What each image is made from, so that one that is out of date can be found. */
export const CHART_DATA = {
  throughput: throughputData,
  recovery: recoveryData,
  storm: stormData,
  idle: idleData,
}
