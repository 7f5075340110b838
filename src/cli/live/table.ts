import type { DropReason } from '../../index.ts'
import {
  age,
  bytes,
  grouped,
  harmlessLine,
  type Ink,
  type Paint,
  significant,
  sized,
  sizedMiddle,
} from '../terminal.ts'
import type { View } from './watch.ts'

/** A line of 80 would wrap on some terminals of 80 columns. */
export const WIDTH = 79
const INDENT = 2
const LABEL = 11
const VALUE = 27
const LABEL_2 = 11
/** What a second value needs; where there is less, it gets a line of its own. */
const LEAST = 20

/** Where the time of a wait comes from, in the words of the status lines. */
const WAITS: Record<NonNullable<View['wait']>['reason'], string> = {
  backoff: 'backoff',
  retry: "the server's pace",
  'retry-after': 'as the server asks',
  circuit: 'the circuit is open',
}
const ENDS = {
  end: 'the server said so',
  closed: 'stopped here',
  aborted: 'stopped here',
  error: 'a final error',
} as const
const CAUSES: readonly DropReason[] = ['end', 'network', 'silence', 'refused', 'rotate']
const MARKS: Record<View['state'], [mark: string, ink: Ink]> = {
  idle: ['○', 'dim'],
  connecting: ['◌', 'yellow'],
  open: ['●', 'green'],
  waiting: ['◌', 'yellow'],
  closed: ['○', 'bold'],
}

/** The live view as lines of at most `width` columns. Server-controlled text in it is harmless. */
export function table(view: View, paint: Paint, width = WIDTH): string[] {
  const { stats, eventsPerS, bytesPerS, lastDrop } = view
  const { gaps } = stats.resume
  const { state: circuit } = stats.breaker
  const { waits, waitedMs } = stats.backoff
  const whole = ({ label, value, ink }: Cell) => {
    const at = label === 'last id' ? sizedMiddle : sized
    return labelled(label, inked(at(value, Math.max(width - INDENT - LABEL, 1)).trimEnd(), ink, paint), paint)
  }
  const pair = (left: Cell, right: Cell) => {
    const rest = width - INDENT - LABEL - VALUE - LABEL_2
    if (rest < LEAST) return [whole(left), whole(right)]
    const at = right.label === 'last id' ? sizedMiddle : sized
    return [
      labelled(left.label, inked(sized(left.value, VALUE), left.ink, paint), paint) +
        paint('dim', right.label.padEnd(LABEL_2)) +
        inked(at(right.value, rest).trimEnd(), right.ink, paint),
    ]
  }
  return [
    head(view, paint, width),
    ...pair(
      { label: 'events', value: `${grouped(stats.events)} · ${significant(eventsPerS)}/s` },
      { label: 'last id', value: view.lastId ?? NONE },
    ),
    ...pair(
      { label: 'bytes', value: `${bytes(stats.bytes)} · ${bytes(bytesPerS)}/s` },
      { label: 'last byte', value: lastByte(view) ?? NONE },
    ),
    whole({ label: 'reconnects', value: reconnects(view).join(' · ') }),
    ...pair(
      { label: 'replayed', value: `${grouped(stats.dedupe.duplicates)} dropped` },
      {
        label: 'gaps',
        value: gaps === 0 ? '0' : `${grouped(gaps)}, last: ${view.lastGap}`,
        ink: gaps > 0 && 'red',
      },
    ),
    ...pair(
      {
        label: 'breaker',
        value: circuit === 'off' ? circuit : `${circuit} · ${failures(stats.backoff.failures)}`,
        ink: circuit === 'open' ? 'red' : circuit === 'half-open' && 'yellow',
      },
      { label: 'waits', value: waits === 0 ? '0' : `${grouped(waits)} · ${age(waitedMs)}` },
    ),
    whole({ label: 'last loss', value: lastDrop ? loss(lastDrop, view.url) : NONE }),
  ]
}

/** The same as one line, for logs: no control character, whatever the server sends. */
export function line(view: View): string {
  const { stats } = view
  const { gaps } = stats.resume
  const [times, ...causes] = reconnects(view)
  return harmlessLine(
    [
      `stats: ${state(view)}`,
      `events ${grouped(stats.events)} (${significant(view.eventsPerS)}/s)`,
      `bytes ${bytes(stats.bytes)} (${bytes(view.bytesPerS)}/s)`,
      `last id ${view.lastId === undefined ? 'none' : JSON.stringify(view.lastId)}`,
      `last byte ${lastByte(view) ?? 'none'}`,
      `reconnects ${times}${causes.length > 0 ? ` (${causes.join(', ')})` : ''}`,
      `replayed ${grouped(stats.dedupe.duplicates)}`,
      `gaps ${grouped(gaps)}${gaps > 0 ? ` (last: ${view.lastGap})` : ''}`,
      `breaker ${stats.breaker.state}`,
    ].join(', '),
  )
}

interface Cell {
  label: string
  value: string
  ink?: Ink | false
}

const NONE = '—'

const labelled = (label: string, value: string, paint: Paint) =>
  `${' '.repeat(INDENT)}${paint('dim', label.padEnd(LABEL))}${value}`

const inked = (text: string, ink: Ink | false | undefined, paint: Paint) => (ink ? paint(ink, text) : text)

function head(view: View, paint: Paint, width: number): string {
  const [mark, ink] = MARKS[view.state]
  const what = `${mark} ${state(view)}`
  const text = sized(view.url === '' ? what : `${what}  ${view.url}`, width).trimEnd()
  return text.startsWith(what) ? paint(ink, what) + paint('dim', text.slice(what.length)) : paint(ink, text)
}

function state({ state, stateMs, totalMs, attempt, wait, closed }: View): string {
  switch (state) {
    case 'open':
      return `open for ${age(stateMs)}`
    case 'connecting':
      return attempt > 1 ? `connecting, attempt ${grouped(attempt)}` : 'connecting'
    case 'waiting':
      return `waiting, next dial in ${age(wait?.leftMs ?? 0)} (${WAITS[wait?.reason ?? 'backoff']})`
    case 'closed':
      return `closed after ${age(totalMs)}: ${ENDS[closed ?? 'closed']}`
    default:
      return state
  }
}

/** The age of the last byte, and the silence that ends the connection. */
function lastByte({ lastByteMs, stats, state }: View): string | undefined {
  const { timeoutMs } = stats.heartbeat
  if (lastByteMs === undefined) return undefined
  return `${age(lastByteMs)} ago${state === 'open' && timeoutMs > 0 ? `, limit ${age(timeoutMs)}` : ''}`
}

const failures = (inARow: number) =>
  inARow === 0 ? 'no failure' : `${grouped(inARow)} ${inARow === 1 ? 'failure' : 'failures'}`

/** Without the URL, which the head names. */
const loss = ({ reason, text, agoMs }: NonNullable<View['lastDrop']>, url: string) =>
  `${age(agoMs)} ago, ${reason}: ${text.replace(`${url} `, '')}`

/** How many, and how many of each cause. */
function reconnects({ reconnects }: View): string[] {
  const seen = CAUSES.flatMap(cause => {
    const times = reconnects.get(cause)
    return times === undefined ? [] : [{ cause, times }]
  })
  const total = seen.reduce((sum, { times }) => sum + times, 0)
  return [grouped(total), ...seen.map(({ cause, times }) => `${cause} ${grouped(times)}`)]
}
