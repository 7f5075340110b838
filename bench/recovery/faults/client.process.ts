// One kind of client, a stream for each fault: what it received, and when. Times are those of the wall clock's epoch.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventLog } from 'resilient-sse/testing'
import { clientOf } from '../../clients/index.ts'
import { COUNT, FAULTS, logOptions } from './faults.ts'

export interface Observed {
  /** Index in the server's log and time of each event, in the order of their coming. */
  received: [index: number, at: number][]
  /** Events whose data was not what the log has. */
  altered: number
  /** When the client told that something was wrong. */
  troubleAt: number[]
  /** Whether it gave up. */
  ended: boolean
}

/** For clients that take such options; as patient as a test may be. */
const SETTINGS = { silenceMs: 2_000, retryMs: 100 }
/** What still comes after the last event comes soon. */
const AFTERWARDS_MS = 500

const { client, urls, limitMs } = JSON.parse(process.argv[2] as string) as {
  client: string
  urls: string[]
  limitMs: number
}
process.once('disconnect', () => process.exit())
// What a library throws where nobody can catch it ends one stream, not the account of all.
process.on('uncaughtException', () => {})
// Some report each reconnect there.
Object.assign(console, { error() {}, warn() {} })
const now = () => performance.timeOrigin + performance.now()
const { open } = clientOf(client)

const observed = FAULTS.map((): Observed => ({ received: [], altered: 0, troubleAt: [], ended: false }))
await Promise.all(
  FAULTS.map((fault, index) => {
    const log = eventLog(logOptions(fault))
    const one = observed[index] as Observed
    return open(
      urls[index] as string,
      {
        onEvent(data) {
          // Each event begins with its number; what does not, such as a greeting, is not of the log.
          const index = Number.parseInt(data, 10)
          if (Number.isNaN(index)) return
          one.received.push([index, now()])
          if (log.at(index).data !== data) one.altered++
        },
        onTrouble: () => void one.troubleAt.push(now()),
        onEnd: () => {
          one.ended = true
        },
      },
      SETTINGS,
    )
  }),
)

const isOver = ({ received, ended }: Observed) => ended || received.some(([index]) => index === COUNT - 1)
const end = now() + limitMs
while (now() < end && !observed.every(isOver)) await sleep(20)
await sleep(AFTERWARDS_MS)
process.send?.(observed, () => process.exit())
