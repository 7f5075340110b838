// What the server of the cycles sends, as far as the client must know it too.

export const STREAMS = 10
/** Breaks of each stream. */
export const CYCLES = 100
/** One event in so many has 1 MB. */
const BIG_EVERY = 80
const BIG_BYTES = 1_000_000
const SMALL_BYTES = 100
const FILL = 'abcdefghij'.repeat(BIG_BYTES / 10)

export const isBig = (n: number): boolean => n % BIG_EVERY === BIG_EVERY - 1
export const idOf = (stream: number, n: number): string => `${stream}-${String(n).padStart(8, '0')}`
export const numberOf = (id: string): number => Number(id.slice(id.indexOf('-') + 1))

/** Different for each event, so that no other can pass for it. */
export function dataOf(stream: number, n: number): string {
  return `${stream}/${n} ${FILL.slice(n % 10, (n % 10) + (isBig(n) ? BIG_BYTES - 10 : SMALL_BYTES))}`
}

export const eventText = (stream: number, n: number): string =>
  `id: ${idOf(stream, n)}\ndata: ${dataOf(stream, n)}\n\n`
