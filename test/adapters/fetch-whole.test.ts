import { createParser, type EventSourceMessage } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WholeBlocks } from '../../src/adapters/fetch/whole.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (pieces: Uint8Array[]) =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(pieces))

/** What comes out for each of these chunks. */
function pieces(...chunks: string[]): string[] {
  const blocks = new WholeBlocks()
  return chunks.map(chunk => text(blocks.push(bytes(chunk))))
}

test('a block that was begun waits for its end, and comes whole', () => {
  expect(pieces('data: a\n\ndata: b\nid', ': 7\n', '\ndata: c')).toEqual([
    'data: a\n\n',
    '',
    'data: b\nid: 7\n\n',
  ])
})

test.each([['\n\n'], ['\r\n\r\n'], ['\r\r'], ['\n\r\n'], ['\r\n\n'], ['\r\r\n']])(
  'the blank line %j ends a block, wherever it is cut in two',
  blank => {
    for (let cut = 0; cut <= blank.length; cut++) {
      const out = pieces(`data: a${blank.slice(0, cut)}`, blank.slice(cut), 'data: b\n')
      expect(out.join(''), `cut at ${cut}`).toBe(`data: a${blank}`)
    }
  },
)

test('comment lines between two blocks wait for nothing, and those inside a block wait for its end', () => {
  expect(pieces(': one\n', ':two\r\n:thr', 'ee\n\n')).toEqual([': one\n', ':two\r\n', ':three\n\n'])
  expect(pieces('data: a\n\n:x\n:y\ndata: b\n', ': z\n', '\n')).toEqual([
    'data: a\n\n:x\n:y\n',
    '',
    'data: b\n: z\n\n',
  ])
})

test('a BOM is taken off, also when it comes byte by byte; a second one is text', () => {
  const blocks = new WholeBlocks()
  const out = [0xef, 0xbb, 0xbf].map(byte => blocks.push(Uint8Array.of(byte)))
  expect(out).toEqual([[], [], []])
  expect(text(blocks.push(bytes('data: a\n\n')))).toBe('data: a\n\n')
  expect(text(blocks.push(bytes('\uFEFFdata: b\n\n')))).toBe('\uFEFFdata: b\n\n')
})

test('what is left of a complete response is given out as it is', () => {
  const blocks = new WholeBlocks()
  blocks.push(bytes('data: a\n\ndata: [DO'))
  blocks.push(bytes('NE]'))
  expect(text(blocks.rest())).toBe('data: [DONE]')
  expect(blocks.rest()).toEqual([])
})

test.each([
  ['bytes', bytes],
  ['a Buffer', (text: string) => Buffer.from(text)],
])('what was begun does not keep the chunk alive that it came in (%s)', (_, chunkOf) => {
  const blocks = new WholeBlocks()
  for (const begin of ['data: a\n\ndata: b', ' c', ' d']) {
    const chunk = chunkOf(begin)
    blocks.push(chunk)
    chunk.fill(0x78)
  }
  expect(text(blocks.push(bytes('\n\n')))).toBe('data: b c d\n\n')
})

describe('for any stream in any pieces', () => {
  const line = fc.constantFrom(
    'data: x',
    'data',
    'data:é€𐐷',
    'id: 7',
    'id',
    ':',
    ': hb',
    'retry: 5',
    'x',
    '',
    '',
  )
  const stream = fc
    .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 30 })
    .map(lines => bytes(lines.flat().join('')))
  const inPieces = fc.tuple(stream, fc.array(fc.nat({ max: 12 }), { minLength: 1 }))

  function eventsOf(chunks: Uint8Array[]): EventSourceMessage[] {
    const events: EventSourceMessage[] = []
    const parser = createParser({ onEvent: event => events.push(event) })
    const decoder = new TextDecoder()
    for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }))
    return events
  }

  function* cut(whole: Uint8Array, sizes: number[]): Generator<Uint8Array> {
    let at = 0
    for (let turn = 0; at < whole.length; turn++) {
      const size = (sizes[turn % sizes.length] as number) + 1
      yield whole.slice(at, at + size)
      at += size
    }
  }

  test('all bytes come out in order, and each event as soon as its block has ended', () => {
    fc.assert(
      fc.property(inPieces, ([whole, sizes]) => {
        const blocks = new WholeBlocks()
        const given: Uint8Array[] = []
        const out: Uint8Array[] = []
        for (const chunk of cut(whole, sizes)) {
          given.push(chunk)
          out.push(...blocks.push(chunk))
          expect(eventsOf(out)).toEqual(eventsOf(given))
        }
        expect(Buffer.concat([...out, ...blocks.rest()]).equals(Buffer.from(whole))).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('what came out can be followed by another connection: no block runs into the next', () => {
    fc.assert(
      fc.property(inPieces, ([whole, sizes]) => {
        const blocks = new WholeBlocks()
        const out = [...cut(whole, sizes)].flatMap(chunk => blocks.push(chunk))
        const next = bytes('data: next\n\n')
        expect(eventsOf([...out, next])).toEqual([
          ...eventsOf(out),
          { data: 'next', event: undefined, id: undefined },
        ])
      }),
      { numRuns: 500 },
    )
  })
})
