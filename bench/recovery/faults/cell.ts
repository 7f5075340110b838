import { PEERS } from '../../clients/peers.ts'
import type { Cell } from '../../measure/cell.ts'
import { ask, message, start, stop } from '../../measure/processes.ts'
import type { Observed } from './client.process.ts'
import { FAULTS } from './faults.ts'
import { judge, type Verdict } from './judge.ts'

export interface RecoveryResults {
  faults: string[]
  /** By client: rounds of verdicts, in the order of the faults. */
  rounds: Record<string, Verdict[][]>
}

const CLIENTS = ['resilient-sse', 'resilient-sse/eventsource', ...PEERS.map(({ name }) => name)]
/** Who has not gone on by then never will, or not soon enough. */
const LIMIT_MS = 12_000
const LANES = 5

async function allFaults(client: string): Promise<Verdict[]> {
  const server = start('recovery/faults/server', {})
  try {
    const urls = await message<string[]>(server, 20_000)
    const order = { client, urls, limitMs: LIMIT_MS }
    const observed = await ask<Observed[]>('recovery/faults/client', order, { limitMs: 3 * LIMIT_MS })
    server.send('account')
    const accounts = await message<{ struckAt: number; dials: number }[]>(server, 20_000)
    return observed.map((one, index) => judge(one, accounts[index] as (typeof accounts)[number]))
  } finally {
    await stop(server)
  }
}

export const FAULT_MATRIX: Cell<RecoveryResults> = {
  name: 'recovery/faults',
  title: `${FAULTS.length} faults of a server that honours Last-Event-ID`,
  byDefault: true,
  async run({ rounds: count = 2 }) {
    const rounds: RecoveryResults['rounds'] = Object.fromEntries(CLIENTS.map(client => [client, []]))
    for (let nr = 0; nr < count; nr++) {
      // Side by side: they mostly wait.
      const queue = [...CLIENTS]
      const lane = async () => {
        for (let client = queue.shift(); client !== undefined; client = queue.shift())
          rounds[client]?.push(await allFaults(client))
      }
      await Promise.all(Array.from({ length: LANES }, lane))
    }
    return { faults: FAULTS.map(({ name }) => name), rounds }
  },
}
