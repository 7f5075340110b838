import type { Saved } from '../measure/cell.ts'
import { failed, median } from '../measure/rounds.ts'
import { ratio, table } from '../report/markdown.ts'
import { time } from '../throughput/report.ts'
import type { AdapterResults } from './cells.ts'
import type { AdapterRound } from './mcp.ts'

/** What each adapter is compared with. */
export const ALONE: Record<string, string> = {
  'resilient-sse/eventsource': 'eventsource',
  'resilientFetch + decoder + parser': 'fetch + decoder + parser',
  'SDK v1 with mcpFetch': 'SDK v1',
  'SDK v2 with mcpFetch': 'SDK v2',
}

export function adapterMedian({ results }: Saved<AdapterResults>, client: string): number {
  const rounds = results.rounds[client] ?? []
  if (rounds.length === 0 || rounds.some(failed)) return Number.NaN
  return median((rounds as AdapterRound[]).map(round => round.cpuNsPerEvent))
}

/** How many times the CPU of what it stands on or beside. */
export const adapterRatio = (saved: Saved<AdapterResults>, client: string): number =>
  adapterMedian(saved, client) / adapterMedian(saved, ALONE[client] ?? '')

export function adapterTable(saved: Saved<AdapterResults>): string {
  const rows = Object.keys(saved.results.rounds).map(client => {
    const alone = ALONE[client]
    const of = alone === undefined ? '—' : `${ratio(adapterRatio(saved, client))} × ${alone}`
    return [client, time(adapterMedian(saved, client)), of]
  })
  return table(['client', 'CPU per event', 'compared'], rows)
}
