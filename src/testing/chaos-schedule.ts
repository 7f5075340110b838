import { type ChaosFault, type DealtFault, deal } from './chaos-faults.js'
import { mix, random } from './text.js'

/**
 * Which fault meets which connection. Each round deals every fault as often as its `times` says, in an order of the seed's,
 * so that each kind strikes soon; connection n gets the n-th, whatever the clock says.
 */
export class ChaosSchedule {
  readonly #seed: number
  readonly #rounds: number
  readonly #deck: readonly ChaosFault[]
  #round = -1
  #order: readonly number[] = []

  constructor(faults: readonly ChaosFault[], seed: number, rounds: number) {
    this.#seed = seed
    this.#rounds = rounds
    this.#deck = faults.flatMap(fault => Array<ChaosFault>(fault.times ?? 1).fill(fault))
  }

  /** For connection `index`, counted from 0; `undefined`: it is left alone. */
  faultOf(index: number): DealtFault | undefined {
    const size = this.#deck.length
    const round = Math.floor(index / size)
    if (size === 0 || round >= this.#rounds) return undefined
    if (round !== this.#round) {
      this.#round = round
      this.#order = shuffled(size, random(mix(this.#seed ^ 0xdec4, round)))
    }
    const fault = this.#deck[this.#order[index % size] as number] as ChaosFault
    return deal(fault, random(mix(this.#seed, index)))
  }
}

function shuffled(size: number, next: () => number): number[] {
  const order = Array.from({ length: size }, (_, index) => index)
  for (let last = size - 1; last > 0; last--) {
    const other = Math.floor(next() * (last + 1))
    ;[order[last], order[other]] = [order[other] as number, order[last] as number]
  }
  return order
}
