import { SseGapError } from '../../../src/index.ts'
import type { Life, Request } from '../history.ts'
import type { Case, Report } from '../oracle.ts'
import { type Connection, connectionsOf } from './timeline.ts'

/** A moment in which the id in force changed: after so many deliveries of the life. */
interface Move {
  id: string
  after: number
}

/** Where each dial resumes, and what the store is told. */
export function lawOfCursor(one: Case, report: Report): void {
  for (const life of one.history.lives) {
    const moves = checkDials(one, life, report)
    if (one.schedule.options.resume !== 'off') checkSaves(one, life, moves, report)
  }
}

/** What is known of the cursor; `sendable` is the newest id that a header can carry. */
interface Cursor {
  id: string | undefined
  sendable: string | undefined
}

/**
 * Each dial asks for the id in force after all that was read before it; the first for what the store has kept. Returns
 * how the id moved.
 */
function checkDials(one: Case, life: Life, report: Report): Move[] {
  const resumes = one.schedule.options.resume !== 'off'
  const connections = connectionsOf(one.history, life)
  const dials = one.history.requests.filter(request => request.life === life.nr && !request.redirected)
  const moves: Move[] = []
  let possible: Cursor[] = [moved({ id: undefined, sendable: undefined }, life.stored)]
  if (life.stored !== undefined) moves.push({ id: life.stored, after: 0 })
  let deliveries = 0
  const read = (connection: Connection) => {
    possible = distinct(possible.flatMap(cursor => walk(connection, cursor, deliveries, moves)))
    deliveries += connection.fates.filter(({ delivery }) => delivery !== undefined).length
  }
  let next = 0
  for (const dial of dials) {
    for (; next < connections.length && (connections[next] as Connection).request.seq < dial.seq; next++) {
      read(connections[next] as Connection)
    }
    const expected = resumes ? possible.map(({ sendable }) => sendable) : [undefined]
    if (!expected.includes(dial.asked)) {
      const ids = [...new Set(expected)].map(shown).join(' or ')
      report(
        'resumes where it was',
        `life ${life.nr}, request ${dial.nr} asks for ${shown(dial.asked)}, not ${ids}`,
      )
    }
    if (resumes) possible = possible.filter(({ sendable }) => sendable === dial.asked)
    if (possible.length === 0) possible = [{ id: dial.asked, sendable: dial.asked }]
  }
  connections.slice(next).forEach(read)
  return moves
}

function distinct(cursors: Cursor[]): Cursor[] {
  return [...new Map(cursors.map(cursor => [JSON.stringify([cursor.id, cursor.sendable]), cursor])).values()]
}

function shown(id: string | undefined): string {
  return id === undefined ? 'nothing' : JSON.stringify(id)
}

/**
 * Where the cursor may stand after a connection: it moves with each block that was not dropped. They differ only in what
 * is sent for an id that no header can carry.
 */
function walk({ fates }: Connection, from: Cursor, before: number, moves: Move[]): Cursor[] {
  let cursors = [from]
  let furthest = from
  /** Where it has been since. */
  let trail = [from]
  let after = before
  const possible: Cursor[] = []
  for (const { block, delivery, certain } of fates) {
    // Up to here it was read for certain; what follows may have been thrown away.
    if (!certain) possible.push(...cursors)
    if (delivery !== undefined) after++
    if (delivery === undefined && block.data !== undefined) {
      // What was delivered before lies behind the cursor, and so do blocks without data ahead of it. With the cursor's
      // own event a replay is over.
      if (block.id === from.id) furthest = from
      const { id } = furthest
      if (cursors[0]?.id === id || id === undefined) continue
      // Only of those that came in the same read is it known in time that they were replayed, too.
      cursors = distinct([furthest, ...trail.map(cursor => moved(cursor, id))])
      trail = cursors
      moves.push({ id, after })
      continue
    }
    const { id } = block
    if (id !== undefined) {
      cursors = cursors.map(cursor => moved(cursor, id))
      trail = [...trail, ...cursors]
      moves.push({ id, after })
    }
    if (delivery !== undefined) {
      furthest = cursors[0] as Cursor
      trail = cursors
    }
  }
  return distinct([...possible, ...cursors])
}

function moved(cursor: Cursor, id: string | undefined): Cursor {
  if (id === undefined) return cursor
  if (id === '') return { id, sendable: undefined }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the very thing that a header cannot carry
  return { id, sendable: /[\u0000-\u001f]/.test(id) ? cursor.sendable : id }
}

/**
 * The store is never told of more than the consumer has handled: every event up to the saved id was acknowledged. And
 * at the end of a life, unless it crashed, all that was acknowledged has been saved.
 */
function checkSaves(one: Case, life: Life, moves: Move[], report: Report): void {
  const saves = one.history.saves.filter(save => save.life === life.nr)
  for (const save of saves) {
    const handled = handledAt(life, save.seq)
    if (!moves.some(({ id, after }) => id === save.id && after <= handled))
      report(
        'the store is not ahead',
        `life ${life.nr} saved ${shown(save.id)} when ${handled} events were handled`,
      )
  }
  const { store } = one.schedule
  const reliable = store?.saves.every(({ ms, fails }) => !fails && ms < 3_000) === true
  if (!reliable || life.end === undefined || life.end.how === 'crash' || !wasLoaded(one, life)) return
  // What is acknowledged after the end may come too late.
  const closed = life.told.find(({ event }) => event.type === 'close')
  const least = handledAt(life, closed?.seq ?? Number.POSITIVE_INFINITY)
  const most = handledAt(life, Number.POSITIVE_INFINITY)
  if (least === 0) return
  const expected = moves.filter(({ after }) => after >= least && after <= most).map(({ id }) => id)
  const last = moves.findLast(({ after }) => after < least)?.id
  // A gap that ends the stream cuts off what was read behind it.
  const cut = life.end.error instanceof SseGapError
  if ((cut || !moves.some(({ after }) => after === least)) && last !== undefined) expected.push(last)
  const kept = saves.at(-1)?.id ?? life.stored
  if (kept === undefined ? expected.length === 0 : expected.includes(kept)) return
  const ids = expected.map(shown).join(' or ')
  report('nothing unsaved', `life ${life.nr} left ${shown(kept)} in the store, not ${ids}`)
}

/** How many events of a life, from its first on, were acknowledged by then without one missing. */
function handledAt({ deliveries }: Life, seq: number): number {
  const open = deliveries.findIndex(({ handled }) => handled === undefined || handled.seq > seq)
  return open === -1 ? deliveries.length : open
}

function wasLoaded(one: Case, life: Life): boolean {
  return one.history.requests.some((request: Request) => request.life === life.nr)
}
