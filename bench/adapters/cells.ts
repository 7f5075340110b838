import type { Cell } from '../measure/cell.ts'
import type { Round } from '../measure/rounds.ts'
import { BASE, sized } from '../throughput/cells.ts'
import { throughput } from '../throughput/run.ts'
import { type AdapterRound, mcpCalls } from './mcp.ts'

export interface AdapterResults {
  /** By client. */
  rounds: Record<string, Round<AdapterRound>[]>
}

const ROUNDS = 5
const MESSAGES = 50_000

const onStreams = (title: string, name: string, clients: readonly string[]): Cell<AdapterResults> => ({
  name: `adapters/${name}`,
  title,
  byDefault: true,
  run: async options => ({
    rounds: await throughput(clients, sized(BASE, options), { rounds: options.rounds ?? ROUNDS }),
  }),
})

export const ADAPTERS: Cell<AdapterResults>[] = [
  onStreams('EventSource beside eventsource', 'eventsource', ['resilient-sse/eventsource', 'eventsource']),
  onStreams('resilientFetch beside plain fetch, each with decoder and parser', 'fetch', [
    'resilientFetch + decoder + parser',
    'fetch + decoder + parser',
  ]),
  {
    name: 'adapters/mcp',
    title: 'mcpFetch under the SDKs of MCP: a tool call with many messages',
    byDefault: true,
    run: async ({ quick, rounds = ROUNDS }) => ({
      rounds: await mcpCalls(quick ? 2_000 : MESSAGES, rounds),
    }),
  },
]
