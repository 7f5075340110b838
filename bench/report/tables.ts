import { adapterTable } from '../adapters/report.ts'
import { fanoutTable } from '../fanout/report.ts'
import { growthTable } from '../growth/report.ts'
import { idleTable } from '../idle/report.ts'
import type { Saved } from '../measure/cell.ts'
import { alarmsTable } from '../recovery/alarms/report.ts'
import { cyclesTable } from '../recovery/cycles/report.ts'
import { faultTable } from '../recovery/faults/report.ts'
import { startupTable } from '../startup/report.ts'
import { stormTable } from '../storm/report.ts'
import { throughputTable } from '../throughput/report.ts'

const TABLES: Record<string, (saved: Saved<never>) => string> = {
  throughput: throughputTable,
  fanout: fanoutTable,
  idle: idleTable,
  growth: growthTable,
  'recovery/faults': faultTable,
  'recovery/cycles': cyclesTable,
  'recovery/alarms': alarmsTable,
  storm: stormTable,
  adapters: adapterTable,
  startup: startupTable,
}

/** The results of one cell as a table in Markdown, which reads well in a terminal, too. */
export function tableOf(cell: string, saved: Saved): string {
  const [group = ''] = cell.split('/', 1)
  return (TABLES[cell] ?? TABLES[group])?.(saved as Saved<never>) ?? ''
}
