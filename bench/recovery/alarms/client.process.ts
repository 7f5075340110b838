// Quiet streams, and an event loop that is blocked again and again for longer than the watchdog's patience. Then the
// server falls silent, so that the watchdog is known to be awake.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { ResilientSse } from 'resilient-sse'
import { PATIENCE_MS, STREAMS } from './rhythm.ts'

export interface AlarmsResults {
  heartbeats: number
  blocks: number
  blockedMs: number
  /** Connections that were ended although the server spoke. */
  alarms: number
  /** Of those, within the patience after a write: nothing but the watchdog's mistake. */
  falseAlarms: number
  /** Streams that noticed the silence in the end, and after how long: least, median and most. */
  noticed: number
  noticedMs: [number, number, number]
}

/** How long the loop is blocked, in turn, and the longest pause between two blocks. */
const BLOCKS_MS = [500, 1_000, 2_000, 4_000]
const PAUSE_MS = 12_000

const { url, wanted, limitMs } = JSON.parse(process.argv[2] as string) as {
  url: string
  wanted: number
  limitMs: number
}
process.once('disconnect', () => process.exit())
const now = () => performance.timeOrigin + performance.now()

let heartbeats = 0
const drops: { stream: number; at: number }[] = []
const streams = Array.from(
  { length: STREAMS },
  (_, stream) =>
    new ResilientSse(`${url}/${stream}`, {
      heartbeat: { timeoutMs: PATIENCE_MS },
      onComment: () => {
        heartbeats++
      },
      onLifecycle: ({ type }) => {
        if (type === 'drop') drops.push({ stream, at: now() })
      },
    }),
)
for (const stream of streams) void follow(stream)

async function follow(stream: ResilientSse): Promise<void> {
  for await (const _ of stream) {
    // Heartbeats are all that comes.
  }
}

function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

let blocks = 0
let blockedMs = 0
let nextBlockAt = now() + PAUSE_MS / 2
for (const end = now() + limitMs; heartbeats < wanted && now() < end; await sleep(100)) {
  if (now() < nextBlockAt) continue
  const ms = BLOCKS_MS[blocks++ % BLOCKS_MS.length] as number
  block(ms)
  blockedMs += ms
  nextBlockAt = now() + PAUSE_MS * Math.random()
}

const early = drops.length
process.send?.('silence')
const [writes] = (await once(process, 'message')) as [Map<number, number[]>]
const end = now() + 4 * PATIENCE_MS
while (drops.length - early < STREAMS && now() < end) await sleep(50)

const sinceWrite = ({ stream, at }: { stream: number; at: number }) =>
  at - (writes.get(stream)?.findLast(time => time <= at) ?? Number.NEGATIVE_INFINITY)
const late = drops
  .splice(early)
  .map(sinceWrite)
  .sort((a, b) => a - b)
const results: AlarmsResults = {
  heartbeats,
  blocks,
  blockedMs,
  alarms: drops.length,
  falseAlarms: drops.filter(drop => sinceWrite(drop) <= PATIENCE_MS).length,
  noticed: late.length,
  noticedMs: [late[0], late[late.length >> 1], late.at(-1)].map(ms =>
    Math.round(ms ?? 0),
  ) as AlarmsResults['noticedMs'],
}
process.send?.(results, () => process.exit())
