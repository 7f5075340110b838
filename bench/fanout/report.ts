import type { Saved } from '../measure/cell.ts'
import { failed, median } from '../measure/rounds.ts'
import { table } from '../report/markdown.ts'
import { time } from '../throughput/report.ts'
import type { FanoutResults, FanoutRound } from './cells.ts'

export function fanoutTable({ results }: Saved<FanoutResults>): string {
  const rows = Object.entries(results.rounds).map(([client, rounds]) => {
    const lost = rounds.find(failed)
    if (lost !== undefined) return [client, lost.failed, '—']
    const of = (figure: keyof FanoutRound) => median((rounds as FanoutRound[]).map(round => round[figure]))
    return [client, time(of('cpuNsPerEvent')), `${of('lateMs').toFixed(1)} ms`]
  })
  return table(['client', 'CPU per event', 'event loop late, p99'], rows)
}
