import type { Saved } from '../../measure/cell.ts'
import { count, table } from '../../report/markdown.ts'
import type { CyclesResults } from './cell.ts'

export function cyclesTable({ results }: Saved<CyclesResults>): string {
  const { total, right, lost, doubled, altered, disturbed, noiseMs, kinds } = results
  const ms = ([median, p99]: [number, number]) => `${median.toFixed(1)} / ${p99.toFixed(1)} ms`
  const rows = kinds.map(({ name, cycles, dials, rawMs, addedMs, tookMs }) => [
    name,
    count(cycles),
    count(dials),
    ms(rawMs),
    ms(addedMs),
    ms(tookMs),
  ])
  const header = ['break', 'cycles', 'dials', 'bare fetch, p50 / p99', 'added', 'in all, waits included']
  return `Resumed from the right event: ${count(right)} of ${count(total)}; lost ${lost}, doubled ${doubled}, altered ${altered}. Two bare fetches
side by side differed by ${noiseMs.toFixed(1)} ms (p99); ${disturbed} cycles in which a process was starved of the processor are left out.

${table(header, rows)}`
}
