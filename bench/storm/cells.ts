import type { Cell } from '../measure/cell.ts'
import { ask } from '../measure/processes.ts'
import { interleave, type Round } from '../measure/rounds.ts'
import { CLIENTS, SCENARIOS } from './scenarios.ts'
import type { StormOrder, StormRound } from './storm.process.ts'
import { STRATEGIES } from './strategies.ts'

export interface StormResults {
  clients: number
  /** How long it takes at least until all are back. */
  leastMs: number
  /** By strategy. */
  rounds: Record<string, Round<StormRound>[]>
}

const LIMIT_MS = 300_000

export const STORM: Cell<StormResults>[] = Object.entries(SCENARIOS).map(
  ([scenario, { title, leastMs }]) => ({
    name: `storm/${scenario}`,
    title: `${CLIENTS.toLocaleString('en')} clients after ${title}`,
    byDefault: true,
    async run({ quick, rounds = 1 }) {
      const clients = quick ? CLIENTS / 10 : CLIENTS
      let seed = 1
      const measure = (strategy: string) => {
        const order: StormOrder = { strategy, scenario, clients, seed: seed++ }
        return ask<StormRound>('storm/storm', order, { limitMs: LIMIT_MS })
      }
      const measured = await interleave(Object.keys(STRATEGIES), rounds, measure, () => 1)
      return { clients, leastMs: leastMs(clients), rounds: measured }
    },
  }),
)
