import { ask, message, NoResult, start, stop } from '../measure/processes.ts'
import { interleave, type Round } from '../measure/rounds.ts'

export interface AdapterRound {
  cpuNsPerEvent: number
}

/** The SDKs of MCP, each alone and with `mcpFetch`. */
const CLIENTS = {
  'SDK v1': { sdk: 'v1', resilient: false },
  'SDK v1 with mcpFetch': { sdk: 'v1', resilient: true },
  'SDK v2': { sdk: 'v2', resilient: false },
  'SDK v2 with mcpFetch': { sdk: 'v2', resilient: true },
}

/** CPU time per message of a tool call that is answered by a long stream. */
export async function mcpCalls(
  messages: number,
  rounds: number,
): Promise<Record<string, Round<AdapterRound>[]>> {
  const server = start('adapters/mcp-server', { messages })
  try {
    const { url } = await message<{ url: string }>(server, 30_000)
    const measure = async (client: string): Promise<AdapterRound> => {
      const order = { ...CLIENTS[client as keyof typeof CLIENTS], url }
      const { count, altered, cpuNs } = await ask<{ count: number; altered: number; cpuNs: number }>(
        'adapters/mcp-client',
        order,
        { limitMs: 120_000 },
      )
      if (count !== messages || altered > 0)
        throw new NoResult(`${count} of ${messages} messages, ${altered} altered`)
      return { cpuNsPerEvent: cpuNs / messages }
    }
    return await interleave(Object.keys(CLIENTS), rounds, measure, round => round.cpuNsPerEvent)
  } finally {
    await stop(server)
  }
}
