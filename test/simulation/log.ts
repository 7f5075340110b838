import type { EntryKind, IdStyle, Schedule } from './schedule.ts'

/** The data of the event that ends a simulation. */
export const LAST = 'the last one'

/** One block of the server's log. */
export interface Entry {
  /** Its place in the log. */
  readonly index: number
  /** Its id field, `''` when that is empty, `undefined` when it has none. */
  readonly id: string | undefined
  readonly type: string | undefined
  /** `undefined`: an id-only block, which moves the cursor and is no event. No two entries hold the same. */
  readonly data: string | undefined
}

/** Everything that the server will ever send, in its order. The last one ends the simulation when it arrives. */
export function logOf({ log }: Schedule): Entry[] {
  let numbered = 0
  const entries = log.entries.map((kind, index) => {
    const isNumbered = kind !== 'noId' && kind !== 'emptyId'
    return entryOf(kind, index, log.ids === 'decimal' && isNumbered ? ++numbered : index, log.ids)
  })
  const last = entries.length
  // Its id is its own, so that nothing can be taken for it; a server that numbers anew has no such id to give.
  const own = log.ids === 'decimal' ? String(numbered + 1) : 'the-last'
  const id = log.ids === 'none' || log.ids === 'renumbered' ? undefined : own
  return [...entries, { index: last, id, type: undefined, data: LAST }]
}

function entryOf(kind: EntryKind, index: number, number: number, ids: IdStyle): Entry {
  const long = kind === 'long' ? ` ${'0123456789'.repeat(20)}` : ''
  const data =
    kind === 'idOnly'
      ? undefined
      : kind === 'lines'
        ? `line ${index}\n\nand its third`
        : `event ${index} äß語🎈${long}`
  return { index, id: idOf(kind, number, ids), type: kind === 'typed' ? 'order' : undefined, data }
}

function idOf(kind: EntryKind, number: number, ids: IdStyle): string | undefined {
  if (ids === 'none' || kind === 'noId') return undefined
  if (kind === 'emptyId') return ''
  if (ids === 'decimal') return String(number)
  // A control character stands in no header: the newest id before it is asked for instead.
  if (kind === 'unsendable') return `e${number}\u0001`
  if (ids === 'unicode') return `é-${number}-語`
  // A batch of two shares one id, so half of it may be lost or doubled with the other half.
  if (ids === 'shared') return `batch-${number >> 1}`
  return `k${((number * 7919) % 10007).toString(36)}-${number}`
}

const encoder = new TextEncoder()

/** The bytes of one block. `id` stands in for the entry's own where a server numbers each response anew. */
export function bytesOf(entry: Entry, eol: string, id: string | undefined = entry.id): Uint8Array {
  const lines: string[] = []
  if (entry.type !== undefined) lines.push(`event: ${entry.type}`)
  if (id !== undefined) lines.push(`id: ${id}`)
  for (const line of entry.data?.split('\n') ?? []) lines.push(`data: ${line}`)
  return encoder.encode(`${lines.join(eol)}${eol}${eol}`)
}

export function encode(text: string): Uint8Array {
  return encoder.encode(text)
}
