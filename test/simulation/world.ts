import { getEventListeners } from 'node:events'
import { SseGapError } from '../../src/index.ts'
import type { Breaker } from '../../src/layers/breaker.ts'
import { machine } from '../../src/machine.ts'
import { seeded } from '../random.ts'
import { VirtualClock } from './clock.ts'
import { Consumer } from './consumer.ts'
import { type Coverage, clientState } from './coverage.ts'
import { deadlineOf } from './deadline.ts'
import type { History, Life, Moment } from './history.ts'
import { LEAST_CHANCE } from './laws/dials.ts'
import { type Entry, logOf } from './log.ts'
import { sharedBreaker } from './options.ts'
import type { Disturbance, Schedule, StreamLeg } from './schedule.ts'
import { Server } from './server.ts'

/** More lives than any schedule can ask for: the consumer cannot get through. */
const MOST_LIVES = 200

/** One schedule at play: a clock, a server, and a consumer that starts again until it has seen the last event. */
export class World {
  readonly schedule: Schedule
  readonly clock = new VirtualClock()
  readonly entries: Entry[]
  readonly history: History
  readonly server: Server
  readonly breaker: Breaker | undefined
  readonly healthyLeg: StreamLeg
  /** What outlives a process: the stored id. */
  readonly durable = { id: undefined as string | undefined, loads: 0, saves: 0 }
  /** Events, over all lives. */
  delivered = 0
  #seq = 0
  #uptimeAheadMs = 0
  #consumer: Consumer | undefined
  #over = false
  readonly #acts: Map<number, Schedule['consumer']['acts'][number]['do']>
  readonly #coverage: Coverage | undefined

  constructor(schedule: Schedule, coverage?: Coverage) {
    this.schedule = schedule
    this.#coverage = coverage
    this.entries = logOf(schedule)
    this.history = { lives: [], requests: [], saves: [], violations: [], endedAt: 0, outcome: 'late' }
    this.breaker = sharedBreaker(schedule)
    this.healthyLeg = healthyLegFor(schedule)
    this.server = new Server(this)
    this.#acts = new Map(schedule.consumer.acts.map(({ at, do: act }) => [at, act]))
  }

  async play(): Promise<History> {
    const { clock, history, schedule } = this
    const uninstall = clock.install(chanceOf(schedule.seed))
    const onUnhandled = (error: unknown) =>
      this.violated('nothing unhandled', String((error as Error)?.stack ?? error))
    process.on('unhandledRejection', onUnhandled).on('uncaughtException', onUnhandled)
    const { uptimeMs, addresses, afterPoll } = machine
    const home: ReadonlySet<string> = new Set(['127.0.0.1'])
    machine.uptimeMs = () => clock.now + this.#uptimeAheadMs
    machine.addresses = () => home
    machine.afterPoll = callback => void clock.after(0, callback)
    try {
      for (const disturbance of schedule.disturbances) {
        clock.after(disturbance.atMs, () => this.#disturb(disturbance))
      }
      const consuming = this.#consume().catch(error => this.violated('simulation', String(error?.stack)))
      history.outcome = await clock.run(() => this.#over, deadlineOf(schedule))
      history.endedAt = clock.now
      if (this.#over) await consuming
    } finally {
      Object.assign(machine, { uptimeMs, addresses, afterPoll })
      uninstall()
      process.off('unhandledRejection', onUnhandled).off('uncaughtException', onUnhandled)
    }
    return history
  }

  async #consume(): Promise<void> {
    const { consumer } = this.schedule
    for (let nr = 1; nr <= MOST_LIVES; nr++) {
      const life: Life = {
        nr,
        began: this.moment(),
        stored: undefined,
        deliveries: [],
        told: [],
        reconnects: [],
        end: undefined,
      }
      this.history.lives.push(life)
      this.#consumer = new Consumer(this, life)
      // A consumer may have something else to do before its first pull.
      await this.clock.sleep(nr === 1 ? 0 : consumer.restartMs)
      const how = await this.#consumer.run()
      this.#expectNothingLeft(this.#consumer)
      if (how === 'finished') break
      await this.clock.sleep(
        Math.max(1, this.breaker?.state === 'open' ? 10_000 : 0, restartAfter(life.end?.error)),
      )
    }
    if (this.life.end?.how !== 'finished')
      this.violated('no hanging', `${MOST_LIVES} lives, and none of them saw the last event`)
    this.#over = true
  }

  #expectNothingLeft({ life, abort }: Consumer): void {
    const left = (what: string) => this.violated('nothing left', `${what} after the end of life ${life.nr}`)
    if (this.clock.ofClient > 0) left(`${this.clock.ofClient} timers`)
    if (getEventListeners(abort.signal, 'abort').length > 0) left("a listener on the user's signal")
    for (const { life: nr, ended, nr: request } of this.history.requests)
      if (nr === life.nr && ended === undefined) left(`request ${request} open`)
    if (this.breaker?.state === 'half-open') left("the shared breaker's probe slot taken")
  }

  /** Whether a gap has ended a stream. */
  get sawGap(): boolean {
    return this.history.lives.some(({ end }) => end?.error instanceof SseGapError)
  }

  get life(): Life {
    return this.history.lives.at(-1) as Life
  }

  moment(): Moment {
    return { at: this.clock.now, seq: this.#seq++ }
  }

  violated(law: string, text: string): void {
    this.history.violations.push({ law, text: `${text} (at ${Math.round(this.clock.now)} ms)` })
  }

  /** What the consumer does at its n-th event. */
  actAt(nr: number) {
    return this.#acts.get(nr)
  }

  readonly fault = (kind: string): void => {
    this.#coverage?.count(kind, clientState(this.#consumer))
  }

  #disturb({ do: what, ms }: Disturbance): void {
    this.fault(what)
    switch (what) {
      case 'sleep':
        this.#uptimeAheadMs += ms
        this.clock.wallOffset += ms
        return
      case 'freeze':
        this.clock.now += ms
        return
      case 'wallclock':
        this.clock.wallOffset -= ms
        return
      default:
        void this.#consumer?.disturb(what)
    }
  }
}

/** As if by chance, but never so close to nothing that a wait has no least length. */
function chanceOf(seed: number): () => number {
  const draw = seeded(seed)
  return () => LEAST_CHANCE + (1 - LEAST_CHANCE) * draw()
}

/** A breaker says when it is worth to come back. */
function restartAfter(error: unknown): number {
  const retryAt = error instanceof Error && 'retryAt' in error ? (error.retryAt as number) : 0
  return Math.max(0, retryAt - Date.now())
}

function healthyLegFor({ options }: Schedule): StreamLeg {
  const commentsMs = typeof options.heartbeat === 'number' ? options.heartbeat / 3 : 15_000
  return {
    do: 'stream',
    delayMs: 5,
    from: { from: 'after' },
    greeting: 'none',
    framed: true,
    writes: [],
    end: 'follow',
    endAfterMs: Number.MAX_SAFE_INTEGER,
    commentsMs,
  }
}
