import type { Saved } from '../measure/cell.ts'
import { failed, median } from '../measure/rounds.ts'
import { count, table } from '../report/markdown.ts'
import { time } from '../throughput/report.ts'
import type { GrowthResults, GrowthRound } from './cells.ts'

/** The medians of one client, step by step. */
export function growthOf(saved: Saved<GrowthResults>, client: string, figure: keyof GrowthRound): number[] {
  const rounds = (saved.results.rounds[client] ?? []).filter(round => !failed(round)) as GrowthRound[]
  return saved.results.steps.map((_, step) =>
    median(rounds.map(round => round[figure]?.[step] ?? Number.NaN)),
  )
}

export function growthTable(saved: Saved<GrowthResults>): string {
  const { steps, rounds } = saved.results
  const clients = Object.keys(rounds)
  const columns = clients.map(client => growthOf(saved, client, 'cpuNsPerEvent'))
  const memory = clients.map(client => growthOf(saved, client, 'rssBytes'))
  const withMemory = memory.some(values => values.some(value => !Number.isNaN(value)))
  const rows = steps.map((step, i) => [
    count(step),
    ...columns.map(values => time(values[i] ?? Number.NaN)),
    ...(withMemory ? memory.map(values => `${count((values[i] ?? 0) / 2 ** 20)} MiB`) : []),
  ])
  const header = [
    withMemory ? 'events until then' : 'streams',
    ...clients.map(name => `CPU per event: ${name}`),
  ]
  return table(withMemory ? [...header, ...clients.map(name => `memory: ${name}`)] : header, rows)
}
