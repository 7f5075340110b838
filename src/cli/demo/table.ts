import { duration, grouped, harmlessLine, type Paint } from '../terminal.ts'
import type { Report, Row } from './report.ts'

/** Title above title, width, and the side on which text stands. Together 79 columns, gaps of one included. */
const COLUMNS = [
  ['', 'fault', 26, 'left'],
  ['at', 'event', 7, 'right'],
  ['', 'noticed by', 14, 'left'],
  ['noticed', 'after', 7, 'right'],
  ['recovered', 'after', 9, 'right'],
  ['', 'lost', 4, 'right'],
  ['', 'twice', 5, 'right'],
] as const

function line(cells: readonly string[]): string {
  return cells
    .map((cell, index) => {
      const [, , width, side] = COLUMNS[index] as (typeof COLUMNS)[number]
      return side === 'left' ? cell.padEnd(width) : cell.padStart(width)
    })
    .join(' ')
    .trimEnd()
}

const count = (number: number) => (number === 0 ? '0' : grouped(number))

function rowLine(row: Row, paint: Paint): string {
  const { atEvent, noticedBy, noticedAfterMs, recoveredAfterMs, lost, doubled } = row
  const never = '—'
  const text = line([
    row.fault,
    atEvent === undefined ? 'never' : grouped(atEvent),
    noticedBy.length === 0 ? 'nobody' : noticedBy.join('+'),
    noticedAfterMs === undefined ? never : duration(noticedAfterMs),
    recoveredAfterMs === undefined ? 'never' : duration(recoveredAfterMs),
    count(lost),
    count(doubled),
  ])
  const bad = lost + doubled > 0 || atEvent === undefined || recoveredAfterMs === undefined
  return bad ? paint('red', text) : text
}

/**
 * The report for people, in lines of at most 79 columns. `height`: of the terminal, if it is one; when the titles scroll
 * away, they are repeated.
 */
export function render(report: Report, paint: Paint, height = Number.POSITIVE_INFINITY): string {
  const { rows, events, received, lost, doubled, altered, disordered, beside } = report
  const titles = [COLUMNS.map(([above]) => above), COLUMNS.map(([, title]) => title)].map(cells =>
    paint('bold', line(cells)),
  )
  const lines = [
    '',
    ...titles,
    ...rows.map(row => rowLine(row, paint)),
    ...(rows.length + 10 > height ? titles : []),
    '',
    `${grouped(received)} of ${grouped(events)} events, ${grouped(report.bytes)} bytes, compared with the server's log:`,
    `${lost} lost, ${doubled} doubled, ${altered} altered, ${disordered} out of order.`,
    paint(
      'dim',
      `${grouped(report.replayed)} replayed events dropped; ${report.dials} dials, ${duration(report.waitedMs)} of chosen waits, ${duration(report.tookMs)} in all.`,
    ),
  ]
  if (beside.received !== beside.sent)
    lines.push(paint('red', `Of ${beside.sent} events outside the log ${beside.received} came.`))
  if (report.error !== undefined)
    lines.push(paint('red', `The stream did not get to its end: ${harmlessLine(report.error)}`))
  const survived = rows.filter(row => row.recoveredAfterMs !== undefined).length
  lines.push(
    report.ok
      ? paint('green', `${survived} faults survived; every event came once, in order.`)
      : paint('red', `${survived} of ${rows.length} faults survived, and not everything is right.`),
    '',
  )
  return lines.join('\n')
}
