/** A seeded source of numbers from 0 to 1 (mulberry32): every run draws the same. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The least and the greatest of `count` draws. */
export function range(count: number, draw: () => number): { min: number; max: number } {
  const drawn = Array.from({ length: count }, draw)
  return { min: Math.min(...drawn), max: Math.max(...drawn) }
}
