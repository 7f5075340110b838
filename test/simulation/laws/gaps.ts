import type { GapReason } from '../../../src/index.ts'
import type { Life } from '../history.ts'
import type { Case, Report } from '../oracle.ts'
import { type Connection, connectionsOf, wasDropped } from './timeline.ts'

interface Told {
  reason: GapReason
  after: string | undefined
  before: string | undefined
  seq: number
}

/** A gap is told where the client can see one, and nowhere else. */
export function lawOfGaps(one: Case, report: Report): void {
  const { resume } = one.schedule.options
  for (const life of one.history.lives) {
    const told = gapsOf(life)
    if (resume === 'off') {
      if (told.length > 0) report('no false gap', `life ${life.nr} was told of a gap with resume off`)
      continue
    }
    const connections = connectionsOf(one.history, life)
    checkOrder(one, life, told, report)
    for (const [index, connection] of connections.entries()) {
      const until = connections[index + 1]?.request.seq ?? Number.POSITIVE_INFINITY
      const here = told.filter(({ seq }) => seq > connection.request.seq && seq < until)
      const say = (law: string, text: string) =>
        report(law, `life ${life.nr}, request ${connection.request.nr}: ${text}`)
      checkNoCursor(life, connections, index, here, say)
      checkIgnored(one, life, connections, index, here, say)
      checkReused(one, connections, index, here, say)
    }
  }
}

function gapsOf(life: Life): Told[] {
  return life.told.flatMap(({ event, seq }) => (event.type === 'gap' ? [{ ...event, seq }] : []))
}

/** Without any id nobody knows what was sent between two connections. */
function checkNoCursor(
  life: Life,
  connections: Connection[],
  index: number,
  told: Told[],
  say: Report,
): void {
  const count = told.filter(({ reason }) => reason === 'no-cursor').length
  const earlier = connections.slice(0, index)
  const ids = (sure: boolean) =>
    Boolean(life.stored) ||
    earlier.some(({ fates }) => fates.some(({ block, certain }) => block.id && (certain || !sure)))
  // The response may have come when the stream was already over.
  const opened = life.told.some(
    ({ event, seq }) => event.type === 'open' && seq > (connections[index]?.request.seq ?? 0),
  )
  if (count > 1 || (count === 1 && (index === 0 || ids(true))))
    say('no false gap', 'no-cursor, although there was one')
  if (count === 0 && index > 0 && opened && !ids(false))
    say('gaps are told', 'no id was ever seen, and nothing was said')
}

/** A server that began ahead of the id asked for, at the stream's first event or with events that are new. */
function checkIgnored(
  { schedule, history }: Case,
  life: Life,
  connections: Connection[],
  index: number,
  told: Told[],
  say: Report,
): void {
  const { request, sent, fates } = connections[index] as Connection
  const count = told.filter(({ reason }) => reason === 'cursor-ignored').length
  const { ids } = schedule.log
  const ahead = request.asked !== undefined && sent.cursor >= 0 && sent.start < sent.cursor
  const received = connections.slice(0, index).flatMap(({ fates: earlier }) => earlier)
  // A stream that begins with its first two events again is taken for a replay of everything.
  const first = received.filter(({ block, delivery }) => delivery && block.id)
  // Behind an id that no header can carry an older one was asked for: what follows that is ahead of the cursor.
  const inForce = received.findLast(({ block }) => block.id)?.block.id
  const older = schedule.log.entries.includes('unsendable') && inForce !== request.asked
  const replayed = fates.filter(({ block }) => block.id && block.data !== undefined)
  const beginsAnew =
    replayed.length > 1 &&
    first.length > 1 &&
    [0, 1].every(at => replayed[at]?.block.data === first[at]?.block.data)
  const isFull = beginsAnew && replayed[1]?.certain === true
  if (
    count > 0 &&
    !(ahead || older || beginsAnew || ids === 'shared' || ids === 'renumbered' || sent.cursor < 0)
  )
    say('no false gap', `cursor-ignored, although it began at ${sent.start} after ${sent.cursor}`)
  if (schedule.options.dedupe === 'off' || !ahead || ids === 'shared' || ids === 'renumbered') return
  // A greeting is no news.
  const news = fates.findIndex(
    ({ block, delivery }) => delivery !== undefined && block.id && block.data !== '',
  )
  const own = fates.findIndex(fate => fate.block.id === request.asked && wasDropped(fate))
  if (count === 0 && news !== -1 && own > news && history.outcome === 'over')
    say('gaps are told', `new events came ahead of ${request.asked}, the id that was asked for`)
  if (count === 0 && isFull && replayed.every(fate => fate.block.data !== ''))
    say('gaps are told', `life ${life.nr}: the stream began with its very first events again`)
}

/** Known ids for other data. Only servers that number anew, or give one id to two events, do that. */
function checkReused(
  { schedule }: Case,
  connections: Connection[],
  index: number,
  told: Told[],
  say: Report,
): void {
  const count = told.filter(({ reason }) => reason === 'ids-reused').length
  const { ids } = schedule.log
  if (count > 0 && ids !== 'renumbered' && ids !== 'shared')
    say('no false gap', 'ids-reused, although each id has one event')
  if (ids !== 'renumbered' || schedule.options.dedupe === 'off') return
  if (count > 1) say('no false gap', 'ids-reused more than once')
  // Each response counts from 1, and the first of its events has a number that was delivered before.
  const numbersOne = ({ fates }: Connection) =>
    fates.flatMap(({ delivery, block }) => (delivery && block.id === '1' ? [block.data] : []))
  const before = connections.slice(0, index).flatMap(numbersOne)
  const again = numbersOne(connections[index] as Connection)
  if (count === 0 && before.length > 0 && again.some(data => !before.includes(data)))
    say('gaps are told', 'number 1 came again for another event')
}

/** With `isNext` each step that is not one is told, with its two ids. */
function checkOrder({ schedule }: Case, life: Life, told: Told[], report: Report): void {
  const { log, options } = schedule
  const checks = options.resume !== 'off' && options.resume.isNext && log.ids === 'decimal'
  const missing = told
    .filter(({ reason }) => reason === 'missing')
    .map(({ after, before }) => `${after} to ${before}`)
  const expected: string[] = []
  let previous = life.stored
  for (const { id } of checks ? life.deliveries : []) {
    if (!id) continue
    if (previous && Number(id) !== Number(previous) + 1) expected.push(`${previous} to ${id}`)
    previous = id
  }
  // What was read when the stream ended was told, and never delivered.
  const wasTold = missing.slice(0, expected.length)
  if (expected.join() !== wasTold.join())
    report(
      'gaps are told',
      `life ${life.nr} skipped ${expected.join(', ') || 'nothing'}, and was told ${missing.join(', ') || 'nothing'}`,
    )
  if (!checks && missing.length > 0) report('no false gap', `life ${life.nr}: missing, without isNext`)
}
