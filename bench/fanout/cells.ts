import { Crowd } from '../crowd/crowd.ts'
import type { Cell } from '../measure/cell.ts'
import { interleave, type Round } from '../measure/rounds.ts'

export interface FanoutRound {
  cpuNsPerEvent: number
  /** How late the event loop was: p99. */
  lateMs: number
}

export interface FanoutResults {
  streams: number
  perSecond: number
  /** By client. */
  rounds: Record<string, Round<FanoutRound>[]>
}

const CLIENTS = ['resilient-sse', 'eventsource', 'eventsource-client', 'fetch + decoder + parser']
/** Over all streams. */
const PER_SECOND = 5_000
const SECONDS = 4

async function fanout(client: string, streams: number, seconds: number): Promise<FanoutRound> {
  await using crowd = await Crowd.gather(client, streams)
  const each = Math.ceil((PER_SECOND * seconds) / streams)
  const { cpuNs, events, lateMs } = await crowd.until(
    { do: 'frames', perSecond: PER_SECOND, each },
    seconds * 5_000,
  )
  return { cpuNsPerEvent: cpuNs / events, lateMs }
}

const fanoutCell = (streams: number): Cell<FanoutResults> => ({
  name: `fanout/${streams}`,
  title: `${streams.toLocaleString('en')} streams, ${PER_SECOND.toLocaleString('en')} small events a second over all`,
  byDefault: true,
  run: async ({ quick, rounds = 2 }) => ({
    streams,
    perSecond: PER_SECOND,
    rounds: await interleave(
      CLIENTS,
      rounds,
      client => fanout(client, streams, quick ? 1 : SECONDS),
      round => round.cpuNsPerEvent,
    ),
  }),
})

export const FANOUT: Cell<FanoutResults>[] = [fanoutCell(200), fanoutCell(2_000)]
