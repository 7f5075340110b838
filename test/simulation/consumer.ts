import { ResilientSse, type SseEvent } from '../../src/index.ts'
import type { Delivery, Life, LifeEnd } from './history.ts'
import { LAST } from './log.ts'
import { optionsOf } from './options.ts'
import type { ConsumerPlan } from './schedule.ts'
import { SimulatedStore } from './store.ts'
import type { World } from './world.ts'

/** What a consumer's own failure looks like. */
class OwnError extends Error {}

/** How many calls of next() a reader ahead has under way. */
const AHEAD = 3

/** One life of the consumer: a stream, the loop over it, and what the schedule makes of both. */
export class Consumer {
  readonly stream: ResilientSse
  readonly life: Life
  working = false
  readonly #world: World
  readonly #plan: ConsumerPlan
  readonly #store: SimulatedStore | undefined
  readonly abort = new AbortController()
  readonly abortReason = new OwnError('the signal says so')
  #how: LifeEnd | undefined
  readonly #works: Promise<void>[] = []

  constructor(world: World, life: Life) {
    this.#world = world
    this.life = life
    const { schedule } = world
    this.#plan = schedule.consumer
    const options = optionsOf(schedule, world.breaker, world.sawGap)
    if (schedule.store !== undefined && options.resume) {
      this.#store = new SimulatedStore(world, schedule.store, life.nr)
      options.resume.store = this.#store
    }
    if (options.resume) options.resume.ack = this.#plan.ack
    this.stream = new ResilientSse(world.server.url, {
      ...options,
      fetch: world.server.fetch as typeof fetch,
      signal: this.abort.signal,
      onLifecycle: event => life.told.push({ ...world.moment(), event }),
    })
  }

  /** Runs until the stream has ended and everything about it is settled. */
  async run(): Promise<LifeEnd> {
    let error: unknown
    let how: LifeEnd = 'done'
    try {
      if (this.#plan.reads === 'ahead') await this.#readAhead()
      else if (this.#plan.reads === 'batches') await this.#readBatches()
      else await this.#readEvents()
      how = this.#how ?? 'done'
    } catch (thrown) {
      error = thrown
      how = this.#how ?? 'error'
    }
    // The end of a crashed process is not awaited by anybody, but a simulated one shares its clock.
    await this.stream.close().catch(() => {})
    await Promise.all(this.#works)
    this.life.end = { ...this.#world.moment(), how, error }
    return how
  }

  async #readEvents(): Promise<void> {
    for await (const event of this.stream) {
      const delivery = this.#received(event)
      if (await this.#work(delivery)) break
      this.#handled(event, delivery)
    }
  }

  async #readBatches(): Promise<void> {
    for await (const events of this.stream.batches()) {
      const deliveries = events.map(event => this.#received(event))
      for (const [index, delivery] of deliveries.entries()) {
        if (await this.#work(delivery)) return
        if (this.#plan.ack === 'manual') this.#handled(events[index] as SseEvent, delivery)
      }
      if (this.#plan.ack === 'next')
        for (const delivery of deliveries) delivery.handled = this.#world.moment()
    }
  }

  /** Several calls of next() under way, and work on several events at once that ends in any order. */
  async #readAhead(): Promise<void> {
    const iterator = this.stream[Symbol.asyncIterator]()
    let over = false
    const lane = async () => {
      while (!over) {
        const result = await iterator.next()
        if (result.done) break
        const delivery = this.#received(result.value)
        if (over) break
        if (await this.#work(delivery)) {
          over = true
          await iterator.return?.()
        } else {
          this.#handled(result.value, delivery)
        }
      }
      over = true
    }
    const lanes = await Promise.allSettled(Array.from({ length: AHEAD }, lane))
    for (const one of lanes) if (one.status === 'rejected') throw one.reason
  }

  #received({ data, id, event: type }: SseEvent): Delivery {
    const delivery: Delivery = { ...this.#world.moment(), data, id, type, handled: undefined }
    this.life.deliveries.push(delivery)
    this.#world.delivered++
    return delivery
  }

  #handled(event: SseEvent, delivery: Delivery): void {
    delivery.handled = this.#world.moment()
    if (this.#plan.ack === 'manual' && this.#store !== undefined) this.stream.ack(event)
  }

  /** Returns whether the loop is to be left. */
  async #work(delivery: Delivery): Promise<boolean> {
    const nr = this.#world.delivered
    this.working = true
    const ms = this.#plan.workMs[nr % this.#plan.workMs.length] ?? 0
    if (ms > 0) {
      this.#world.fault('slow consumer')
      await this.#world.clock.sleep(ms)
    }
    const isLeaving = await this.#act(delivery, nr)
    this.working = false
    return isLeaving
  }

  /** What the schedule has the consumer do with its n-th event in hand. Returns whether the loop is to be left. */
  async #act(delivery: Delivery, nr: number): Promise<boolean> {
    if (this.#how !== undefined) return true
    if (delivery.data === LAST) return this.#leave('finished')
    const act = this.#world.actAt(nr)
    if (act === undefined) return false
    this.#world.fault(act)
    if (act === 'break') return this.#leave('break')
    if (act === 'throw') {
      this.#how = 'throw'
      this.working = false
      throw new OwnError('the consumer failed')
    }
    await this.disturb(act)
    return this.#how !== undefined
  }

  #leave(how: LifeEnd): true {
    this.#how = how
    return true
  }

  /** What may happen to a consumer at any time. */
  async disturb(what: 'reconnect' | 'crash' | 'abort' | 'close'): Promise<void> {
    if (this.stream.state === 'closed' || this.#how !== undefined) return
    if (what === 'reconnect') {
      this.life.reconnects.push(this.#world.moment())
      return this.stream.reconnect()
    }
    this.#how = what
    if (what === 'crash') this.#store?.crash()
    if (what === 'abort') this.abort.abort(this.abortReason)
    else this.#works.push(this.stream.close().catch(() => {}))
  }
}
