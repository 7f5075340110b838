import { BARE_FETCH } from '../clients/floors.ts'
import { ask, message, NoResult, start, stop } from '../measure/processes.ts'
import { interleave, type Round } from '../measure/rounds.ts'
import { checksumOf, type StreamSpec } from './stream.ts'

export interface ThroughputRound {
  cpuNsPerEvent: number
}

interface Result {
  sum?: number
  cpuNs: number
}

export interface ThroughputOptions {
  rounds: number
  /** The Node of the clients; the server runs on ours. */
  execPath?: string
}

/** Some need 50 s for what others do in one; what they need stands in the table as "more than". */
const LIMIT_MS = 15_000

/**
 * CPU time per event. Every round of every client is a process of its own; what it received is compared with what was
 * sent before its time is believed.
 */
export async function throughput(
  clients: readonly string[],
  spec: StreamSpec,
  { rounds, ...node }: ThroughputOptions,
): Promise<Record<string, Round<ThroughputRound>[]>> {
  const server = start('throughput/server', spec)
  try {
    const { url } = await message<{ url: string }>(server, 60_000)
    const sum = checksumOf(spec)
    const events = spec.events - spec.before
    const measure = async (client: string): Promise<ThroughputRound> => {
      const order = { client, url, bytes: spec.events * spec.bytes, events: spec.events, from: spec.before }
      const result = await ask<Result>('throughput/client', order, { limitMs: LIMIT_MS, ...node })
      if (client !== BARE_FETCH && result.sum !== sum)
        throw new NoResult('received other events than were sent')
      return { cpuNsPerEvent: result.cpuNs / events }
    }
    return await interleave(clients, rounds, measure, round => round.cpuNsPerEvent)
  } finally {
    await stop(server)
  }
}
