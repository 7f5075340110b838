import { ADAPTERS } from './adapters/cells.ts'
import type { Cell } from './measure/cell.ts'
import { THROUGHPUT } from './throughput/cells.ts'

/** All that is measured, in the order of the page. `npm run bench` runs those that are there by default. */
export const CELLS: Cell[] = [...THROUGHPUT, ...ADAPTERS]
