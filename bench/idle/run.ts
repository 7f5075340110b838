import { Crowd } from '../crowd/crowd.ts'

export interface IdleRound {
  /** Resident memory. */
  bytesPerStream: number
  /** Of it, what V8 knows of. */
  heapBytesPerStream: number
  /** Alive, those that do not hold the process included. */
  timers?: number
  /** Of one processor, with nothing at all on the streams. */
  quietShare?: number
  cpuNsPerComment?: number
}

/** Usual among servers. */
const COMMENT_EVERY_MS = 15_000
const SETTLE_MS = 2_000
const QUIET_MS = 4_000

/** Which figures are taken beside memory; each takes its time. */
export interface IdleExtras {
  cpu?: true
  timers?: true
}

export async function idle(client: string, streams: number, extras: IdleExtras): Promise<IdleRound> {
  return {
    ...(await memoryAndCpu(client, streams, extras)),
    ...(extras.timers && { timers: await timers(client, streams) }),
  }
}

async function memoryAndCpu(client: string, streams: number, { cpu }: IdleExtras): Promise<IdleRound> {
  await using crowd = await Crowd.gather(client, streams)
  const { rssBytes, heapBytes } = crowd.opened
  const memory = { bytesPerStream: rssBytes / streams, heapBytesPerStream: heapBytes / streams }
  if (!cpu) return memory
  await crowd.during({ do: 'quiet' }, SETTLE_MS)
  const quiet = await crowd.during({ do: 'quiet' }, QUIET_MS)
  const commented = await crowd.during({ do: 'comments', everyMs: COMMENT_EVERY_MS }, COMMENT_EVERY_MS)
  const comments = (streams * commented.wallMs) / COMMENT_EVERY_MS
  return {
    ...memory,
    quietShare: quiet.cpuNs / 1e6 / quiet.wallMs,
    cpuNsPerComment: commented.cpuNs / comments,
  }
}

async function timers(client: string, streams: number): Promise<number> {
  await using crowd = await Crowd.gather(client, streams, true)
  return crowd.opened.timers
}
