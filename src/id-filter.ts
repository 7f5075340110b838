/** Bits per id: with one hash, about one unknown id in nine is looked up in vain. */
const BITS_PER_ID = 8
/** 1,024 bits: few ids should hardly ever be met in vain. */
const LEAST_WORDS = 32
/** Characters from the end of an id that are hashed: where ids differ that count up or end at random. */
const HASHED_CHARS = 8

/**
 * Tells for certain that an id is *not* among some known ones: a Bloom filter with a single hash. After a reconnect every
 * event has to be looked up, and the lookup in a set must hash the whole id (100 ns and more); this costs 10.
 */
export class IdFilter {
  readonly #bits: Uint32Array
  readonly #mask: number

  constructor(ids: readonly string[]) {
    const words = 2 ** Math.ceil(Math.log2(Math.max(LEAST_WORDS, (ids.length * BITS_PER_ID) / 32)))
    this.#bits = new Uint32Array(words)
    this.#mask = words * 32 - 1
    for (const id of ids) {
      const bit = hashOfEnd(id) & this.#mask
      this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] as number) | (1 << (bit & 31))
    }
  }

  mayHold(id: string): boolean {
    const bit = hashOfEnd(id) & this.#mask
    return ((this.#bits[bit >>> 5] as number) & (1 << (bit & 31))) !== 0
  }
}

function hashOfEnd(id: string): number {
  let hash = id.length
  for (let index = Math.max(0, id.length - HASHED_CHARS); index < id.length; index++) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  }
  return hash ^ (hash >>> 15)
}
