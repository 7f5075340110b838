import { ADAPTERS } from './adapters/cells.ts'
import { FANOUT } from './fanout/cells.ts'
import { GROWTH } from './growth/cells.ts'
import { IDLE } from './idle/cells.ts'
import type { Cell } from './measure/cell.ts'
import { RECOVERY } from './recovery/cells.ts'
import { STARTUP } from './startup/cells.ts'
import { STORM } from './storm/cells.ts'
import { THROUGHPUT } from './throughput/cells.ts'

/** All that is measured, in the order of the page. `npm run bench` runs those that are there by default. */
export const CELLS: Cell[] = [
  ...THROUGHPUT,
  ...FANOUT,
  ...IDLE,
  ...GROWTH,
  ...RECOVERY,
  ...STORM,
  ...ADAPTERS,
  STARTUP,
]
