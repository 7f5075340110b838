import type { Cell } from '../measure/cell.ts'
import { ALARMS_CELL } from './alarms/cell.ts'
import { CYCLES_CELL } from './cycles/cell.ts'
import { FAULT_MATRIX } from './faults/cell.ts'

export const RECOVERY: Cell[] = [FAULT_MATRIX, CYCLES_CELL, ALARMS_CELL]
