// Streams that are broken and recover again and again, through relays in a process of their own.
import { ResilientSse } from 'resilient-sse'
import type { ChaosFault } from 'resilient-sse/testing'
import { Cycle, type CycleFigures } from './cycle.ts'
import { dataOf, isBig, numberOf } from './stream.ts'

export interface StreamAccount {
  cycles: CycleFigures[]
  lost: number
  doubled: number
  altered: number
  /** Breaks that nobody ordered. */
  unasked: number
}

/** Longer than a blackhole lasts: what it swallowed does not come again, and new connections are not held by it. */
const PATIENCE_MS = 400
const FAULTS: [name: string, fault: ChaosFault][] = [
  ['RST', { do: 'reset', inside: 'event' }],
  ['FIN inside an event', { do: 'cut', inside: 'event' }],
  ['blackhole of 200 ms', { do: 'blackhole', ms: 200, bytes: 'drop' }],
  ['refusal of 100 ms', { do: 'refuse', ms: 100 }],
]
/** Events of a connection before it is broken: more than one, or it would count as flapping. */
const LEAST_EVENTS = 5

const { urls, cycles } = JSON.parse(process.argv[2] as string) as { urls: string[]; cycles: number }
process.once('disconnect', () => process.exit())

/** One stream through all of its cycles. The parent has the relays and strikes where it is told to. */
async function run(stream: number, url: string): Promise<StreamAccount> {
  const account: StreamAccount = { cycles: [], lost: 0, doubled: 0, altered: 0, unasked: 0 }
  let cycle: Cycle | undefined
  let received = ''
  const sse = new ResilientSse(url, {
    heartbeat: { timeoutMs: PATIENCE_MS },
    backoff: { baseMs: 20, maxMs: 100 },
    breaker: { threshold: 1_000 },
    onLifecycle(event) {
      if (cycle === undefined) account.unasked += event.type === 'drop' ? 1 : 0
      else cycle.tell(event, received)
    },
  })
  let onConnection = 0
  for await (const { id = '', data } of sse) {
    const now = performance.now()
    const n = numberOf(id)
    const expected = received === '' ? 0 : numberOf(received) + 1
    if (n < expected) account.doubled++
    else account.lost += n - expected
    if (data !== dataOf(stream, n)) account.altered++
    received = id
    onConnection++
    if (cycle?.droppedAt !== undefined) {
      account.cycles.push(await cycle.end(now, id))
      cycle = undefined
      onConnection = 1
      if (account.cycles.length === cycles) break
    }
    const count = account.cycles.length
    // One cycle in ten breaks at an event of 1 MB, which is then the first of the next connection.
    const big = count % 10 === 9
    if (cycle !== undefined || onConnection < LEAST_EVENTS || isBig(n + 1) !== big) continue
    const [name, fault] = FAULTS[(count + stream) % FAULTS.length] as (typeof FAULTS)[number]
    cycle = new Cycle(big ? `${name}, 1 MB` : name, url)
    process.send?.({ stream, fault })
  }
  return account
}

process.send?.({ accounts: await Promise.all(urls.map((url, stream) => run(stream, url))) }, () =>
  process.exit(),
)
