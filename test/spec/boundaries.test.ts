import { afterAll, describe, expect, test, vi } from 'vitest'
import { createDecoder as createBrowserDecoder } from '../../src/decode.browser.ts'
import { createDecoder } from '../../src/decode.ts'
import { type Case, type Piece, textOf, titleOf } from './cases/case.ts'
import { cases } from './cases/index.ts'
import { runCase } from './core.ts'
import { readChunks } from './reader.ts'
import { referenceReading } from './reference.ts'
import { type Cut, cutBody, SpecServer } from './server.ts'

// However a stream is cut into chunks, it holds the same events. Each body of each case is read whole, in two chunks
// split at every byte boundary, and byte by byte: in memory, which is the same reader without a socket before it. Over
// the socket each case runs whole and byte by byte, and some run at every boundary.

vi.setConfig({ maxConcurrency: 32 })

/** Up to this many bytes a body is split everywhere, and read byte by byte. */
const SMALL = 4_500
/** A larger one is split around each of its line ends and at this many other places. */
const PLACES = 4
/** A larger one is also read in chunks of this many bytes, among which no two line ends fall alike. */
const LARGE_CHUNK = 997

const LF = 0x0a
const CR = 0x0d

const withBody = cases.flatMap(one =>
  one.answers.flatMap(({ body = [] }, index) => {
    const bytes = wholeOf(body)
    return bytes.length === 0 ? [] : [{ title: `${titleOf(one)} (dial ${index + 1})`, bytes }]
  }),
)

function wholeOf(body: readonly Piece[]): Buffer {
  return Buffer.concat(cutBody(body, 'case').filter(part => typeof part !== 'number'))
}

/** Where a body is split in two. */
function boundaries(bytes: Buffer): number[] {
  if (bytes.length <= SMALL) return Array.from({ length: bytes.length - 1 }, (_, index) => index + 1)
  const places = new Set<number>()
  for (let place = 1; place <= PLACES; place++) places.add(Math.floor((place * bytes.length) / (PLACES + 1)))
  for (let at = 1; at < bytes.length - 1; at++) {
    if (bytes[at] === LF || bytes[at] === CR) places.add(at).add(at + 1)
  }
  return [...places]
}

function inPieces(bytes: Buffer, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
}

describe('the reference reader, on which the comparison rests, reads the events of the case:', () => {
  const single = cases.filter(({ answers, expected }) => answers.length === 1 && expected.events.length > 0)
  test.each(
    single.filter(({ client }) => client?.closeAt === undefined).map(one => [titleOf(one), one] as const),
  )('%s', (_title, { answers, expected }) => {
    const reading = referenceReading(wholeOf(answers[0]?.body ?? []))
    expect(reading.events.map(({ id: _, ...shown }) => shown)).toEqual(
      expected.events.map(one => ({ ...one, data: textOf(one.data) })),
    )
    if (expected.comments === undefined) return
    expect(reading.comments.map(({ comment }) => comment)).toEqual(expected.comments)
  })
})

describe('in memory, whole, split anywhere and byte by byte:', () => {
  test.each(withBody.map(({ title, bytes }) => [title, bytes] as const))('%s', async (_title, bytes) => {
    const expected = referenceReading(bytes)
    expect(await readChunks([bytes])).toEqual(expected)
    for (const at of boundaries(bytes)) {
      const halves = [bytes.subarray(0, at), bytes.subarray(at)]
      expect(await readChunks(halves), `split at ${at}, read one by one`).toEqual(expected)
      if (bytes.length > SMALL) continue
      expect(await readChunks(halves, 2), `split at ${at}, read together`).toEqual(expected)
    }
    const size = bytes.length <= SMALL ? 1 : LARGE_CHUNK
    expect(await readChunks(inPieces(bytes, size)), `in chunks of ${size}`).toEqual(expected)
  })
})

describe('decoded byte by byte, the text of a stream is that of its bytes without one BOM', () => {
  const small = withBody.filter(({ bytes }) => bytes.length <= SMALL)
  test.each([
    ['on Node', createDecoder],
    ['in a browser', createBrowserDecoder],
  ])('%s', (_, create) => {
    for (const { title, bytes } of small) {
      const decoder = create()
      const text = inPieces(bytes, 1)
        .map(piece => decoder.decode(piece))
        .join('')
      expect(text, title).toBe(new TextDecoder().decode(bytes, { stream: true }))
    }
  })
})

/** One for each kind of trouble: line ends, byte order marks, characters of several bytes, nearly fields, ids. */
const EVERYWHERE = [
  'contract-linefeeds-crlf-two-events-whole',
  'contract-linefeeds-cr-two-extra-blanks-whole',
  'contract-bom-first-only',
  'contract-parsing-multi-byte',
  'standard-line-mixed',
  'standard-utf-8-line-end',
  'web-platform-format-field-parsing',
  'web-platform-format-field-id-3-persists',
]

describe.concurrent('over the socket:', () => {
  const held = cases.filter(
    ({ answers, client }) => answers.length === 1 && answers[0]?.body !== undefined && !client,
  )
  const small = held.filter(({ answers }) => wholeOf(answers[0]?.body ?? []).length <= SMALL)
  const everywhere = small.filter(({ id }) => EVERYWHERE.includes(id))
  const served = SpecServer.start(held)
  afterAll(async () => (await served)[Symbol.asyncDispose]())
  const run = async (one: Case, cut: Cut) => runCase(await served, one, one.expected, cut)

  test.each(held.map(one => [titleOf(one), one] as const))('whole: %s', (_, one) => run(one, 'whole'))

  test.each(small.map(one => [titleOf(one), one] as const))('byte by byte: %s', (_, one) => run(one, 'bytes'))

  test('the cases that are split everywhere exist', () => {
    expect(everywhere.map(({ id }) => id).sort()).toEqual([...EVERYWHERE].sort())
  })

  test.each(everywhere.map(one => [titleOf(one), one] as const))('split anywhere: %s', async (_, one) => {
    const { length } = wholeOf(one.answers[0]?.body ?? [])
    await Promise.all(Array.from({ length: length - 1 }, (_, index) => run(one, index + 1)))
  })
})
