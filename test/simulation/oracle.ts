import type { History, Violation } from './history.ts'
import { lawOfCursor } from './laws/cursor.ts'
import { lawOfDelivery } from './laws/delivery.ts'
import { lawOfDials } from './laws/dials.ts'
import { lawOfEnds } from './laws/ends.ts'
import { lawOfGaps } from './laws/gaps.ts'
import type { Entry } from './log.ts'
import type { Schedule } from './schedule.ts'

/** What the laws look at: the plan, the server's log, and what both sides wrote down. */
export interface Case {
  schedule: Schedule
  entries: readonly Entry[]
  history: History
}

/** Every law that this history breaks. */
export function judge(one: Case): Violation[] {
  const violations = [...one.history.violations]
  for (const law of [lawOfEnds, lawOfDelivery, lawOfCursor, lawOfGaps, lawOfDials])
    law(one, (law, text) => violations.push({ law, text }))
  return violations
}

export type Report = (law: string, text: string) => void
