import type { CursorStore } from '../../src/layers/resume.ts'
import type { StorePlan } from './schedule.ts'
import type { World } from './world.ts'

/** A store in memory, as slow and as unreliable as its plan. One per life, over one durable value. */
export class SimulatedStore implements CursorStore {
  readonly #world: World
  readonly #plan: StorePlan
  readonly #life: number
  #inFlight = 0
  /** After a crash nothing of this life reaches the disk. */
  #cutOff: () => void = () => {}
  readonly #crash: Promise<void>
  #crashed = false
  #closed = false

  constructor(world: World, plan: StorePlan, life: number) {
    this.#world = world
    this.#plan = plan
    this.#life = life
    this.#crash = new Promise(resolve => {
      this.#cutOff = resolve
    })
  }

  async load(): Promise<string | undefined> {
    const { clock, durable } = this.#world
    if (this.#plan.loadMs > 0) await clock.sleep(this.#plan.loadMs)
    if (durable.loads++ < this.#plan.failingLoads) {
      this.#world.fault('load fails')
      throw new Error('the disk is not there')
    }
    this.#world.life.stored = durable.id
    return durable.id
  }

  async save(id: string): Promise<void> {
    const { clock, durable, history } = this.#world
    if (this.#closed) this.#world.violated('store', `save(${id}) after close()`)
    if (++this.#inFlight > 1) this.#world.violated('store', 'two saves at once')
    const { ms, fails } = this.#plan.saves[durable.saves++ % this.#plan.saves.length] ?? {
      ms: 0,
      fails: false,
    }
    if (!this.#crashed) history.saves.push({ ...this.#world.moment(), life: this.#life, id })
    if (ms > 0) {
      this.#world.fault('save takes its time')
      await Promise.race([clock.sleep(ms), this.#crash])
    }
    this.#inFlight--
    if (fails) {
      this.#world.fault('save fails')
      throw new Error('the disk is full')
    }
    if (!this.#crashed) durable.id = id
  }

  close(): void {
    this.#closed = true
  }

  crash(): void {
    this.#crashed = true
    this.#cutOff()
  }
}
