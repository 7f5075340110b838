import { Crowd } from '../crowd/crowd.ts'
import type { Cell } from '../measure/cell.ts'
import { ask, message, NoResult, start, stop } from '../measure/processes.ts'
import { interleave, type Round } from '../measure/rounds.ts'
import { BASE } from '../throughput/cells.ts'

/** By client; in each round one figure for each step. */
export interface GrowthResults {
  /** Streams, or the event at which each part of the stream ended. */
  steps: number[]
  rounds: Record<string, Round<GrowthRound>[]>
}

export interface GrowthRound {
  cpuNsPerEvent: number[]
  rssBytes?: number[]
}

const CLIENTS = ['resilient-sse', 'fetch + decoder + parser']
const EVENTS = 10_000_000
const SLICES = 10
const STREAMS = [1, 10, 100, 1_000, 10_000]
/** Over all streams: the same work for one and for ten thousand. */
const EVENTS_OF_ALL = 1_000_000
const EVENTS_A_WRITE = 100

async function longStream(client: string, url: string, events: number): Promise<GrowthRound> {
  const { done, doubled } = await ask<{
    done: { cpuNsPerEvent: number; rssBytes: number }[]
    doubled: number
  }>('growth/client', { client, url, events, slices: SLICES }, { limitMs: 240_000 })
  if (doubled > 0) throw new NoResult(`${doubled} events twice`)
  return {
    cpuNsPerEvent: done.map(slice => slice.cpuNsPerEvent),
    rssBytes: done.map(slice => slice.rssBytes),
  }
}

async function manyStreams(client: string, counts: number[]): Promise<GrowthRound> {
  const cpuNsPerEvent: number[] = []
  for (const streams of counts) {
    await using crowd = await Crowd.gather(client, streams)
    const each = EVENTS_OF_ALL / streams
    const { cpuNs, events } = await crowd.until({ do: 'bursts', each, ofFrames: EVENTS_A_WRITE }, 180_000)
    cpuNsPerEvent.push(cpuNs / events)
  }
  return { cpuNsPerEvent }
}

const total = ({ cpuNsPerEvent }: GrowthRound) => cpuNsPerEvent.reduce((sum, ns) => sum + ns, 0)

export const GROWTH: Cell<GrowthResults>[] = [
  {
    name: 'growth/events',
    title: 'one stream, from its first event to the ten-millionth',
    byDefault: true,
    async run({ quick, rounds = 2 }) {
      const events = quick ? EVENTS / 20 : EVENTS
      const server = start('growth/server', { ...BASE, events })
      try {
        const { url } = await message<{ url: string }>(server, 10_000)
        const steps = Array.from({ length: SLICES }, (_, i) => ((i + 1) * events) / SLICES)
        const measure = (client: string) => longStream(client, url, events)
        return { steps, rounds: await interleave(CLIENTS, rounds, measure, total) }
      } finally {
        await stop(server)
      }
    },
  },
  {
    name: 'growth/streams',
    title: 'a million events over 1 to 10,000 streams',
    byDefault: true,
    async run({ quick, rounds = 1 }) {
      const steps = quick ? STREAMS.slice(0, 3) : STREAMS
      return { steps, rounds: await interleave(CLIENTS, rounds, client => manyStreams(client, steps), total) }
    },
  },
]
