import { expect, test } from 'vitest'
import type { ByteSource } from '../../src/body.ts'
import { Connection } from '../../src/connection.ts'
import { SseError } from '../../src/errors.ts'
import { seeded } from '../random.ts'

/** What a reader makes of a stream; `cursor`: the id in force at the event. */
interface Reading {
  events: { id: string | undefined; event: string | undefined; data: string; cursor: string | undefined }[]
  comments: string[]
  retries: number[]
  cursor: string | undefined
}

/** [spec] 9.2.6, as slow and as plain as it is written there. */
function plainReading(bytes: Uint8Array): Reading {
  const reading: Reading = { events: [], comments: [], retries: [], cursor: undefined }
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\n|\r/)
  let block: { id?: string; event?: string; data?: string } = {}
  for (const line of lines.slice(0, -1)) {
    const [, field = '', colon, value = ''] = /^([^:]*)(?:(:) ?(.*))?$/su.exec(line) ?? []
    if (line === '') {
      reading.cursor = block.id ?? reading.cursor
      const { id, event, data } = block
      if (data !== undefined)
        reading.events.push({ id, event: event || undefined, data, cursor: reading.cursor })
      block = {}
    } else if (field === '' && colon) reading.comments.push(value)
    else if (field === 'data') block.data = block.data === undefined ? value : `${block.data}\n${value}`
    else if (field === 'event') block.event = value
    else if (field === 'id' && !value.includes('\0')) block.id = value
    else if (field === 'retry' && /^[0-9]+$/.test(value)) reading.retries.push(Number(value))
  }
  return reading
}

/** The same bytes through the connection, in these chunks, `perRead` at a time. */
async function ourReading(chunks: Uint8Array[], perRead: number): Promise<Reading> {
  const reading: Reading = { events: [], comments: [], retries: [], cursor: undefined }
  const left = [...chunks]
  const body: ByteSource = {
    ready: async () => left.length > 0,
    take: () => left.splice(0, perRead),
    cancel: () => {},
  }
  const connection = new Connection(body, new AbortController(), {
    cleanEnd: true,
    maxEventChars: 100_000,
    rotateAfterMs: undefined,
    onCommentParsed: () => {},
    onComment: comment => reading.comments.push(comment),
    onRetry: ms => reading.retries.push(ms),
  })
  try {
    for (;;) {
      const { events, cursorMoves } = await connection.read()
      const moves = [...cursorMoves]
      for (let index = 0; index <= events.length; index++) {
        while (moves[0]?.at === index) reading.cursor = moves.shift()?.id
        const event = events[index]
        if (event === undefined) continue
        reading.cursor = event.id ?? reading.cursor
        reading.events.push({ id: event.id, event: event.event, data: event.data, cursor: reading.cursor })
      }
    }
  } catch (error) {
    if (!(error instanceof SseError) || error.code !== 'ERR_SSE_END') throw error
  }
  return reading
}

const FIELDS = ['data', 'data', 'id', 'event', 'retry', '', 'dat', ' data', 'ID', '\ufeffdata']
const VALUES = [
  '',
  ' ',
  'a',
  ' é',
  '€豆',
  '𝄞x',
  '\ufeff',
  'a\0b',
  '12',
  '012',
  '1.5',
  '-1',
  'a:b',
  '\u2028',
  '\x85',
]
const BROKEN = [0x80, 0xc3, 0xe2, 0x82, 0xf0, 0x9d, 0xff, 0xef, 0xbb, 0xbf, 0x41, 0x0a, 0x0d, 0xed, 0xa0]

function makeStream(random: () => number): Uint8Array {
  const pick = <One>(from: readonly One[]) => from[Math.floor(random() * from.length)] as One
  const parts: (string | Buffer)[] = [pick(['', '', '', '\ufeff', '\ufeff\ufeff'])]
  const newline = pick(['\n', '\r', '\r\n'])
  const mixed = random() < 0.5
  for (let lines = 1 + random() * 25; lines > 0; lines--) {
    const end = mixed ? pick(['\n', '\r', '\r\n']) : newline
    const kind = random()
    if (kind < 0.3) parts.push(end)
    else if (kind < 0.92) parts.push(pick(FIELDS) + pick([':', ': ', '']) + pick(VALUES) + end)
    else parts.push(Buffer.from([pick(BROKEN), pick(BROKEN), pick(BROKEN)]))
  }
  return Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : part)))
}

function cut(bytes: Uint8Array, random: () => number): Uint8Array[] {
  const chunks: Uint8Array[] = []
  const longest = [1, 2, 5, 17, 1_000][Math.floor(random() * 5)] as number
  for (let at = 0; at < bytes.length; ) {
    const length = Math.floor(random() * (longest + 1))
    chunks.push(bytes.slice(at, at + length))
    at += length
  }
  return chunks
}

test.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'however a stream is cut and whatever is in it, it reads as the standard says (seed %i)',
  async seed => {
    const random = seeded(seed)
    for (let round = 0; round < 100; round++) {
      const bytes = makeStream(random)
      const ours = await ourReading(cut(bytes, random), random() < 0.5 ? 1 : 50)
      expect(ours, JSON.stringify(Buffer.from(bytes).toString('latin1'))).toEqual(plainReading(bytes))
    }
  },
)
