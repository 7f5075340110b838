import fc from 'fast-check'

// Streams that nobody would write, cut anywhere.

export interface Sample {
  bytes: Buffer
  /** Where the bytes are cut; the same place twice makes an empty chunk. */
  cuts: number[]
  /** How many chunks come with one network read. */
  perRead: number
}

export function chunksOf({ bytes, cuts }: Sample): Buffer[] {
  const places = cuts.filter(at => at <= bytes.length).sort((one, other) => one - other)
  return [0, ...places].map((at, index) => bytes.subarray(at, places[index] ?? bytes.length))
}

/** One of these texts; those between bars, so that spaces can be among them. */
const words = (list: string) => list.split('|').map(word => Buffer.from(word))
const hex = (list: string) => list.split(' ').map(bytes => Buffer.from(bytes, 'hex'))
const oneOf = (list: readonly Buffer[]) => fc.constantFrom(...list)

const NAMES = words('data|data|data|id|id|event|retry|retry|')
const NEARLY_NAMES = words('dat|datax| data|Data|i|data\0|\0|\ufeffdata')
const COLONS = words(':|: |:  |')
const VALUES = words('|| |a|\0|a\0b|:|a:b|7|0|012|99999999999|1.5|-1|٣|\t|data|data: x')
const RARE_VALUES = words('é|€|𝄞|\ufeff|\u2028|\x85|\xef\xbb\xbf')
/** Pieces of characters and of byte order marks, and bytes that UTF-8 does not have. */
const PIECES = hex('ef efbb efbbbf bb c3 c3af e2 e282 f09d84 80 ff eda080 c0af')
/** A BOM, two, the letters that one becomes when it is encoded twice, and two thirds of one. */
const STARTS = [...words('|'), ...hex('efbbbf efbbbfefbbbf c3afc2bbc2bf efbb')]
/** Which line ends a stream has. */
const LINE_ENDS = [words('\n'), words('\r'), words('\r\n'), words('\n|\r|\r\n|\r\n')]
/** What matters to the grammar, in no order. */
const TOKENS = words('data|data:|id|event|retry:|:|:| |\n|\n|\r|\r|\r\n|\0|7|x')

const bytes = (maxLength: number) => fc.uint8Array({ maxLength, size: 'max' }).map(some => Buffer.from(some))
const name = fc.oneof({ arbitrary: oneOf(NAMES), weight: 6 }, { arbitrary: oneOf(NEARLY_NAMES), weight: 1 })
const value = fc.oneof(
  { arbitrary: oneOf([...VALUES, ...RARE_VALUES]), weight: 6 },
  { arbitrary: oneOf(PIECES), weight: 2 },
  { arbitrary: bytes(4), weight: 1 },
)
const field = fc.tuple(name, oneOf(COLONS), value).map(parts => Buffer.concat(parts))
/** A line end, as an index into those that the stream has. */
const lineEnd = fc.nat(3)

/** Lines, and how each of them ends: not at all, once, or with a blank line behind it. */
const lines = fc.array(
  fc.oneof(
    { arbitrary: fc.tuple(field, fc.array(lineEnd, { minLength: 1, maxLength: 2 })), weight: 8 },
    { arbitrary: fc.tuple(oneOf([...PIECES, ...words('')]), fc.array(lineEnd, { maxLength: 1 })), weight: 1 },
  ),
  { maxLength: 24, size: 'max' },
)

const grammatical = fc
  // Otherwise most of the lists would be short.
  .tuple(oneOf(STARTS), fc.noBias(lines), fc.constantFrom(...LINE_ENDS))
  .map(([start, all, kinds]) => {
    const endOf = (index: number) => kinds[index % kinds.length] ?? Buffer.alloc(0)
    return Buffer.concat([start, ...all.flatMap(([line, ends]) => [line, ...ends.map(endOf)])])
  })

const disordered = fc
  .array(oneOf([...TOKENS, ...PIECES]), { maxLength: 40, size: 'max' })
  .map(tokens => Buffer.concat(tokens))

const BYTE_BY_BYTE = Array.from({ length: 500 }, (_, at) => at)
const WITH_EMPTY_CHUNKS = BYTE_BY_BYTE.flatMap(at => [at, at])

export const sample: fc.Arbitrary<Sample> = fc.record({
  bytes: fc.oneof(
    { arbitrary: grammatical, weight: 6 },
    { arbitrary: disordered, weight: 3 },
    { arbitrary: bytes(40), weight: 1 },
  ),
  cuts: fc.oneof(
    { arbitrary: fc.array(fc.nat(200), { maxLength: 12 }), weight: 2 },
    { arbitrary: fc.constantFrom(BYTE_BY_BYTE, WITH_EMPTY_CHUNKS), weight: 1 },
  ),
  perRead: fc.constantFrom(1, 1, 2, 3, 1_000),
})
