import type { Saved } from '../measure/cell.ts'
import { failed, median, type Round } from '../measure/rounds.ts'
import { count, table } from '../report/markdown.ts'
import { time } from '../throughput/report.ts'
import type { IdleResults } from './cells.ts'
import type { IdleRound } from './run.ts'

/** The median of one figure of one client; NaN where there is none. */
export function idleMedian(saved: Saved<IdleResults>, client: string, figure: keyof IdleRound): number {
  const rounds: Round<IdleRound>[] = saved.results.rounds[client] ?? []
  return median(rounds.map(round => (failed(round) ? Number.NaN : (round[figure] ?? Number.NaN))))
}

export const kib = (bytes: number): string => `${(bytes / 1_024).toFixed(1)} KiB`

export function idleTable(saved: Saved<IdleResults>): string {
  const rows = Object.entries(saved.results.rounds).map(([client, rounds]) => {
    const lost = rounds.find(failed)
    if (lost !== undefined) return [client, lost.failed, '—', '—', '—', '—']
    const of = (figure: keyof IdleRound, show: (value: number) => string) => {
      const value = idleMedian(saved, client, figure)
      return Number.isNaN(value) ? '—' : show(value)
    }
    return [
      client,
      of('bytesPerStream', kib),
      of('heapBytesPerStream', kib),
      of('timers', count),
      of('quietShare', share => `${(share * 100).toFixed(2)} %`),
      of('cpuNsPerComment', time),
    ]
  })
  return table(
    ['client', 'memory per stream', 'of it in V8', 'timers', 'CPU without traffic', 'CPU per comment'],
    rows,
  )
}
