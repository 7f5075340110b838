import type { Saved } from '../measure/cell.ts'
import { failed, median } from '../measure/rounds.ts'
import { table } from '../report/markdown.ts'
import type { StormResults } from './cells.ts'
import type { StormRound } from './storm.process.ts'

export function stormOf({ results }: Saved<StormResults>, strategy: string) {
  const rounds = (results.rounds[strategy] ?? []).filter(round => !failed(round)) as StormRound[]
  return {
    peakShare: median(rounds.map(round => round.peakShare)),
    /** Times the server's own limit. */
    backShare: median(rounds.map(({ backMs }) => backMs ?? Number.POSITIVE_INFINITY)) / results.leastMs,
    backMs: median(rounds.map(({ backMs }) => backMs ?? Number.POSITIVE_INFINITY)),
    wastedPerClient: median(rounds.map(round => round.wastedPerClient)),
  }
}

export function stormTable(saved: Saved<StormResults>): string {
  const rows = Object.keys(saved.results.rounds).map(strategy => {
    const { peakShare, backMs, backShare, wastedPerClient } = stormOf(saved, strategy)
    const back = Number.isFinite(backMs) ? `${(backMs / 1_000).toFixed(1)} s` : 'not within 4 minutes'
    return [
      strategy,
      `${(peakShare * 100).toFixed(2)} %`,
      back,
      Number.isFinite(backShare) ? backShare.toFixed(2) : '—',
      wastedPerClient.toFixed(2),
    ]
  })
  const header = [
    'strategy',
    'peak of dials in 100 ms',
    'all back after',
    "× the server's own limit",
    'wasted dials per client',
  ]
  return table(header, rows)
}
