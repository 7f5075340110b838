import type { Saved } from '../measure/cell.ts'
import { failed, median } from '../measure/rounds.ts'
import { count, table } from '../report/markdown.ts'
import type { StartupResults, StartupRound } from './cells.ts'

export function startupTable({ results: { rounds, sizes } }: Saved<StartupResults>): string {
  const kib = (bytes: number | undefined) => (bytes === undefined ? '—' : `${count(bytes / 1_024)} KiB`)
  const rows = Object.entries(rounds).map(([name, own]) => {
    const measured = own.filter(round => !failed(round)) as StartupRound[]
    const of = (figure: keyof StartupRound) => median(measured.map(round => round[figure]))
    return [
      name,
      `${count(of('ms'))} ms`,
      `${count(of('cpuMs'))} ms`,
      `${(of('rssBytes') / 2 ** 20).toFixed(1)} MiB`,
      kib(sizes[name]?.bytes),
      kib(sizes[name]?.gzipBytes),
    ]
  })
  return table(['import', 'time', 'CPU', 'memory', 'size', 'gzipped'], rows)
}
