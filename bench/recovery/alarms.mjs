// False alarms: 500 quiet streams, a watchdog twice as patient as the rhythm, and an event loop that is blocked again and
// again for longer than the watchdog's patience. Then the server falls silent, so that the watchdog is known to be awake.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const STREAMS = 500
export const EVERY_MS = 1_500
export const WAVER = 0.5
export const PATIENCE_MS = 3_000
/** How long the loop is blocked, in turn, and the longest pause between two blocks. */
const BLOCKS_MS = [500, 1_000, 2_000, 4_000]
const PAUSE_MS = 12_000

const now = () => performance.timeOrigin + performance.now()

/** Runs until so many heartbeats were received, or for `limitMs`. */
export async function alarms(heartbeats, limitMs) {
  const { ResilientSse } = await import('../../dist/index.js')
  const server = fork(fileURLToPath(new URL('alarms-server.mjs', import.meta.url)))
  const [{ url }] = await once(server, 'message')
  let received = 0
  const drops = []
  const streams = Array.from(
    { length: STREAMS },
    (_, stream) =>
      new ResilientSse(`${url}/${stream}`, {
        heartbeat: { timeoutMs: PATIENCE_MS },
        onComment: () => {
          received++
        },
        onLifecycle: ({ type, reason }) => {
          if (type === 'drop') drops.push({ stream, at: now(), reason })
        },
      }),
  )
  for (const stream of streams) follow(stream)
  const end = now() + limitMs
  let blockedMs = 0
  let blocks = 0
  let nextBlockAt = now() + PAUSE_MS / 2
  while (received < heartbeats && now() < end) {
    await sleep(100)
    if (now() < nextBlockAt) continue
    const ms = BLOCKS_MS[blocks++ % BLOCKS_MS.length]
    block(ms)
    blockedMs += ms
    nextBlockAt = now() + PAUSE_MS * Math.random()
  }
  const before = drops.length
  server.send('silence')
  const [{ writes }] = await once(server, 'message')
  for (const limit = now() + 4 * PATIENCE_MS; drops.length - before < STREAMS && now() < limit; )
    await sleep(50)
  const late = drops.splice(before)
  await Promise.all(streams.map(stream => stream.close()))
  server.disconnect()
  const sinceWrite = ({ stream, at }) => at - lastBefore(writes[stream], at)
  return {
    received,
    blocks,
    blockedMs,
    alarms: drops.length,
    // The server had spoken, and was taken for dead.
    falseAlarms: drops.filter(drop => sinceWrite(drop) <= PATIENCE_MS).length,
    noticedMs: late.map(sinceWrite),
    streams: STREAMS,
  }
}

async function follow(stream) {
  for await (const _ of stream);
}

function block(ms) {
  for (const end = performance.now() + ms; performance.now() < end; );
}

function lastBefore(times, at) {
  return times.findLast(time => time <= at) ?? Number.NEGATIVE_INFINITY
}
