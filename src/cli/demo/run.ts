import { type LifecycleEvent, ResilientSse, type ResilientSseOptions, type SseEvent } from '../../index.ts'
import { encodeEvent, FaultServer, type RemoteFaultServer } from '../../testing/index.ts'
import type { Layer } from '../options.ts'
import type { Fault } from './faults.ts'
import { makePlan, type Plan } from './plan.ts'

/** Shorter than the defaults, which are made for the internet: nobody wants to watch 30 s of patience. */
export const CLIENT = {
  openTimeoutMs: 1_000,
  heartbeat: { timeoutMs: 1_000 },
  backoff: { baseMs: 100, maxMs: 1_000 },
  breaker: { cooldownMs: 1_000 },
} as const satisfies ResilientSseOptions

/** A run that is not over by then is stuck: all faults together take half of it, and the demo a minute at most. */
const limitMs = (events: number, faults: number) => 8_000 + 1_200 * faults + events / 5

/** What the stream told, and how many events had come by then. */
export interface Told {
  event: LifecycleEvent
  /** `performance.now()`: the clock that the server's records are on, too. */
  at: number
  received: number
}

/** What came in. */
export class Reception {
  /** When the event of each index came first; 0 when it never did. */
  readonly firstAt: Float64Array
  /** Indices that came again, with how many events had come by then. */
  readonly doubled: { index: number; received: number }[] = []
  /** Events whose bytes are not those of the log. */
  altered = 0
  /** Events that came after a later one. */
  disordered = 0
  /** Events that are in no log, such as greetings. */
  strays = 0
  bytes = 0
  /** Index of the newest event, plus one. */
  received = 0
  readonly #server: RemoteFaultServer

  constructor(server: RemoteFaultServer) {
    this.#server = server
    this.firstAt = new Float64Array(server.log.length)
  }

  take(event: SseEvent): void {
    if (event.id === undefined) {
      this.strays++
      return
    }
    const { log } = this.#server
    // The next one almost always is; asking the log for an id makes it index them all.
    const index =
      this.received < log.length && log.idAt(this.received) === event.id
        ? this.received
        : log.indexOfId(event.id)
    const got = encodeEvent(event as { data: string })
    if (index === -1 || !got.equals(log.encode(index))) this.altered++
    if (index === -1) return
    this.bytes += got.length
    if (this.firstAt[index] !== 0) {
      this.doubled.push({ index, received: this.received })
      return
    }
    this.firstAt[index] = performance.now()
    if (index < this.received) this.disordered++
    this.received = Math.max(this.received, index + 1)
  }
}

/** Which of the plan's scripts the server plays for which request. */
export interface Armed {
  firstRequest: number
  firstScript: number
}

export interface Run {
  plan: Plan
  server: RemoteFaultServer
  reception: Reception
  told: Told[]
  armed: Armed[]
  stream: ResilientSse
  tookMs: number
  /** Why the stream ended before the server said so. */
  error: unknown
}

/** The server in its process, and what it is going to do. */
export async function startServer(
  events: number,
  seed: number,
  faults: readonly Fault[],
  port = 0,
): Promise<{ plan: Plan; server: RemoteFaultServer }> {
  const { log, extra } = makePlan(events, seed, '', faults)
  const server = await FaultServer.spawn({ log, port })
  const plan = makePlan(events, seed, `http://localhost:${server.port}/elsewhere`, faults)
  await Promise.all(extra.map(event => server.push(event)))
  return { plan, server }
}

/** Streams everything through the client while the plan is carried out. */
export async function run(
  { plan, server }: { plan: Plan; server: RemoteFaultServer },
  without: readonly Layer[],
  onProgress: (run: Run, told?: Told) => void,
): Promise<Run> {
  await server.setScript(plan.script(Date.now()), plan.otherwise)
  const reception = new Reception(server)
  const told: Told[] = []
  let tokens = 0
  const stream = new ResilientSse(server.url, {
    ...CLIENT,
    // The server refuses one of them; the next one is fresh.
    headers: () => ({ authorization: `Bearer demo-${++tokens}` }),
    signal: AbortSignal.timeout(limitMs(server.log.length, plan.strokes.length)),
    onLifecycle: event => {
      const one = { event, at: performance.now(), received: reception.received }
      told.push(one)
      onProgress(result, one)
    },
    ...Object.fromEntries(without.map(layer => [layer, false])),
  })
  const armed = [{ firstRequest: 0, firstScript: 0 }]
  const startedAt = performance.now()
  const result: Run = { plan, server, reception, told, armed, stream, tookMs: 0, error: undefined }
  const timed = plan.strokes.filter(({ fault }) => fault.timed)
  try {
    for await (const event of stream) {
      reception.take(event)
      if (timed[0]?.place.at === reception.received) {
        const firstScript = (timed.shift() as (typeof timed)[0]).scripts[0] + 1
        armed.push({ firstRequest: (await server.requests()).length, firstScript })
        await server.setScript(plan.script(Date.now()).slice(firstScript), plan.otherwise)
        await server.resetAll()
      }
      onProgress(result)
    }
  } catch (error) {
    result.error = error
  }
  result.tookMs = performance.now() - startedAt
  return result
}
