import type { Cell } from '../measure/cell.ts'
import { interleave, type Round } from '../measure/rounds.ts'
import { type IdleExtras, type IdleRound, idle } from './run.ts'

export interface IdleResults {
  streams: number
  /** By client. */
  rounds: Record<string, Round<IdleRound>[]>
}

const CLIENTS = [
  'resilient-sse',
  'eventsource',
  'eventsource-client',
  'fetch + decoder + parser',
  'node:http and nothing else',
]
const ALL = [
  ...CLIENTS,
  'undici EventSource',
  'launchdarkly-eventsource',
  'extended-eventsource',
  'event-source-polyfill',
  '@microsoft/fetch-event-source',
]

const idleCell = (
  name: string,
  streams: number,
  extras: IdleExtras,
  clients = CLIENTS,
): Cell<IdleResults> => ({
  name: `idle/${name}`,
  title: `${streams.toLocaleString('en')} idle streams`,
  byDefault: clients === CLIENTS,
  run: async ({ quick, rounds = 1 }) => {
    const count = quick ? streams / 50 : streams
    const measure = (client: string) => idle(client, count, quick ? {} : extras)
    return {
      streams: count,
      rounds: await interleave(clients, rounds, measure, round => round.bytesPerStream),
    }
  },
})

export const IDLE: Cell<IdleResults>[] = [
  idleCell('1000', 1_000, { timers: true }),
  idleCell('5000', 5_000, { timers: true }),
  idleCell('10000', 10_000, { cpu: true }),
  idleCell('10000-all', 10_000, { cpu: true }, ALL),
]
