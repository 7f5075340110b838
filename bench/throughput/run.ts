import { BARE_FETCH } from '../clients/floors.ts'
import { ask, message, NoResult, start, stop } from '../measure/processes.ts'
import { interleave, type Round } from '../measure/rounds.ts'
import type { ThroughputOrder } from './client.process.ts'
import { time } from './report.ts'
import { checksumOf, type StreamSpec } from './stream.ts'

export interface ThroughputRound {
  cpuNsPerEvent: number
}

interface Result {
  sum?: number
  cpuNs: number
  /** It needed too much of the processor. */
  over?: true
}

export interface ThroughputOptions {
  rounds: number
  /** The Node of the clients; the server runs on ours. */
  execPath?: string
}

/** Of the processor: some need 50 s for what others do in one. */
const LIMIT_CPU_MS = 12_000
/** In case one does nothing at all. */
const LIMIT_MS = 120_000
const PREPARATION_MS = 180_000

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
    const { url } = await message<{ url: string }>(server, PREPARATION_MS)
    const sum = checksumOf(spec)
    const events = spec.events - spec.before
    const measure = async (client: string): Promise<ThroughputRound> => {
      const order: ThroughputOrder = {
        client,
        url,
        bytes: spec.events * spec.bytes,
        events: spec.events,
        from: spec.before,
        limitCpuMs: LIMIT_CPU_MS,
      }
      const result = await ask<Result>('throughput/client', order, { limitMs: LIMIT_MS, ...node })
      if (result.over) throw new NoResult(`more than ${time((LIMIT_CPU_MS * 1e6) / events)}`)
      if (client !== BARE_FETCH && result.sum !== sum)
        throw new NoResult('received other events than were sent')
      return { cpuNsPerEvent: result.cpuNs / events }
    }
    return await interleave(clients, rounds, measure, round => round.cpuNsPerEvent)
  } finally {
    await stop(server)
  }
}
