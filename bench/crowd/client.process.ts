// One process, one kind of client, many streams.
import { createHook } from 'node:async_hooks'

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { clientOf } from '../clients/index.ts'
import { dataOf, GREETING } from './frames.ts'
import type { ClientOrder, Measured, Opened } from './orders.ts'

const { client, port, streams, countTimers } = JSON.parse(process.argv[2] as string) as {
  client: string
  port: number
  streams: number
  countTimers: boolean
}
/** So many addresses of the loopback share the streams. */
const ADDRESSES = 16
/** Dialled at a time. */
const AT_ONCE = 250
/** Opened before memory is looked at, so that it is not charged for what any first use loads. */
const WARM_UP = Math.min(50, Math.ceil(streams / 2))
const DELAY_RESOLUTION_MS = 5

/** Also those that do not keep the process alive, which getActiveResourcesInfo() leaves out. */
const timers = new Set<number>()
if (countTimers) {
  createHook({
    init: (id, type) => void (type === 'Timeout' && timers.add(id)),
    destroy: id => void timers.delete(id),
  }).enable()
}

const { open } = clientOf(client)
const received = new Array<number>(streams).fill(-1)
let greeted = 0
let events = 0
let wrong = 0
let expected = Number.POSITIVE_INFINITY
let onDone = () => {}

function openOne(stream: number): Promise<() => void> {
  const url = `http://127.0.0.${1 + (stream % ADDRESSES)}:${port}/${stream}`
  return open(url, {
    onEvent(data) {
      if (data === GREETING) {
        greeted++
        received[stream] = 0
      } else {
        if (data !== dataOf(stream, (received[stream] as number)++)) wrong++
        if (++events === expected) onDone()
      }
    },
    onTrouble() {
      wrong++
    },
    onEnd() {
      wrong++
    },
  })
}

async function openMore(from: number, to: number): Promise<void> {
  for (let next = from; next < to; ) {
    const end = Math.min(to, next + AT_ONCE)
    await Promise.all(Array.from({ length: end - next }, (_, i) => openOne(next + i)))
    next = end
    while (greeted < next) await sleep(5)
  }
}

async function memory(): Promise<{ rss: number; heap: number }> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await sleep(100)
  }
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, heap: heapUsed + external }
}

await openMore(0, WARM_UP)
const before = await memory()
const startedAt = performance.now()
await openMore(WARM_UP, streams)
const openMs = performance.now() - startedAt
const after = await memory()
const opened: Opened = {
  openMs,
  rssBytes: after.rss - before.rss,
  heapBytes: after.heap - before.heap,
  timers: timers.size,
}
process.send?.(opened)

let cpu: NodeJS.CpuUsage
let wallAt: number
const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })

function tell(): void {
  const { user, system } = process.cpuUsage(cpu)
  delay.disable()
  const measured: Measured = {
    cpuNs: (user + system) * 1_000,
    wallMs: performance.now() - wallAt,
    events,
    wrong,
    lateMs: Math.max(0, delay.percentile(99) / 1e6 - DELAY_RESOLUTION_MS),
  }
  process.send?.(measured)
}

process.on('message', (order: ClientOrder) => {
  if (order.do === 'tell') return tell()
  expected = order.each * streams
  events = 0
  onDone = tell
  delay.reset()
  delay.enable()
  wallAt = performance.now()
  cpu = process.cpuUsage()
  process.send?.('ready')
})
process.once('disconnect', () => process.exit())
