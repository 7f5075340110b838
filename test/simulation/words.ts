import { SseError } from '../../src/index.ts'
import type { History, Life, Request, Violation } from './history.ts'
import type { Leg, Schedule } from './schedule.ts'

/** Lines of the story at most: a stream that hangs has thousands. */
const LONGEST_STORY = 120

/** A schedule and what came of it, for whoever has to find out why. */
export function inWords(schedule: Schedule, history: History, violations: readonly Violation[]): string {
  const { log, legs, options, consumer, store, disturbances } = schedule
  return [
    'Broken laws',
    ...violations.slice(0, 8).map(({ law, text }) => `  ${law}: ${text}`),
    'The server',
    `  has ${log.entries.length} blocks (${log.entries.join(', ')}), ids ${log.ids}; ${log.initial} at once, then one each ${log.everyMs} ms`,
    ...legs.map((leg, index) => `  dial ${index + 1}: ${legInWords(leg)}`),
    '  after that it is healthy',
    'The client',
    `  options ${JSON.stringify(options)}`,
    `  consumer ${JSON.stringify(consumer)}`,
    `  store ${store === undefined ? 'none' : JSON.stringify(store)}`,
    ...disturbances.map(
      ({ atMs, do: what, ms }) =>
        `  at ${atMs} ms: ${what}${['sleep', 'freeze', 'wallclock'].includes(what) ? ` ${ms} ms` : ''}`,
    ),
    'What happened',
    ...story(history),
  ].join('\n')
}

function legInWords(leg: Leg): string {
  switch (leg.do) {
    case 'hang':
      return 'no answer'
    case 'refuse':
      return `${leg.code} after ${leg.delayMs} ms`
    case 'status':
      return `${leg.status} after ${leg.delayMs} ms${leg.retryAfter === undefined ? '' : `, Retry-After: ${leg.retryAfter}`}`
    case 'type':
      return `200 with ${leg.type} after ${leg.delayMs} ms`
    case 'redirect':
      return `${leg.status}, ${leg.hops} times${leg.usable ? '' : ', without Location'}`
    case 'stream': {
      const from = 'count' in leg.from ? `${leg.from.from} ${leg.from.count}` : leg.from.from
      const writes = leg.writes.map(({ afterMs, bytes, plus }) => {
        const more =
          plus === 'nothing' ? '' : plus === 'comment' ? ' and a comment' : ` and retry: ${plus.retry}`
        return `${bytes === 0 ? 'all' : `${bytes} bytes`} after ${afterMs} ms${more}`
      })
      const greeting = leg.greeting === 'none' ? '' : `, greeting ${leg.greeting}`
      const framing = leg.framed ? '' : ', unframed'
      return `a stream after ${leg.delayMs} ms, from ${from}${greeting}${framing}: ${writes.join('; ')}; ${leg.end} after ${leg.endAfterMs} ms${leg.end === 'follow' ? `, comments each ${leg.commentsMs} ms` : ''}`
    }
  }
}

/** Both logs as one, in the order of moments. */
function story({ lives, requests, saves, endedAt }: History): string[] {
  const lines: { seq: number; at: number; text: string }[] = []
  for (const { seq, at, life, id } of saves)
    lines.push({ seq, at, text: `store, life ${life}: save ${JSON.stringify(id)}` })
  for (const request of requests) lines.push(...requestLines(request))
  for (const life of lives) lines.push(...lifeLines(life))
  lines.sort((one, other) => one.seq - other.seq)
  const shown = lines
    .slice(0, LONGEST_STORY)
    .map(({ at, text }) => `  ${String(Math.round(at)).padStart(8)} ms  ${text}`)
  if (lines.length > shown.length)
    shown.push(`  … and ${lines.length - shown.length} more, until ${Math.round(endedAt)} ms`)
  return shown
}

function requestLines({ seq, at, nr, asked, answered, stream, ended }: Request) {
  const lines = [
    {
      seq,
      at,
      text: `server: request ${nr}, Last-Event-ID ${asked === undefined ? 'absent' : JSON.stringify(asked)}`,
    },
  ]
  if (answered !== undefined && stream !== undefined) {
    const blocks = stream.blocks.map(
      ({ id, data, end }) => `${id ?? '-'}${data === undefined ? ' (no data)' : ''} @${end}`,
    )
    const sent = blocks.length > 20 ? [...blocks.slice(0, 20), '…'] : blocks
    lines.push({
      ...answered,
      text: `server: request ${nr} is a stream from ${stream.start}: ${sent.join(', ')}; read ${stream.handed} bytes`,
    })
  }
  if (ended !== undefined)
    lines.push({ seq: ended.seq, at: ended.at, text: `server: request ${nr} over, by ${ended.by}` })
  return lines
}

function lifeLines({ nr, began, deliveries, told, reconnects, end }: Life) {
  const lines = [{ seq: began.seq, at: began.at, text: `consumer: life ${nr} begins` }]
  for (const { seq, at, id, data, handled } of deliveries) {
    lines.push({ seq, at, text: `consumer: got ${id ?? '-'} ${JSON.stringify(data.slice(0, 24))}` })
    if (handled !== undefined) lines.push({ ...handled, text: `consumer: done with ${id ?? '-'}` })
  }
  for (const { seq, at, event } of told)
    lines.push({ seq, at, text: `told: ${JSON.stringify(event, brief)}` })
  for (const { seq, at } of reconnects) lines.push({ seq, at, text: 'consumer: reconnect()' })
  if (end !== undefined)
    lines.push({
      seq: end.seq,
      at: end.at,
      text: `consumer: life ${nr} ends, ${end.how} ${errorText(end.error)}`,
    })
  return lines
}

function brief(key: string, value: unknown): unknown {
  if (key === 'headers' || key === 'url' || key === 'at') return undefined
  return value instanceof Error ? errorText(value) : value
}

function errorText(error: unknown): string {
  return error instanceof SseError
    ? `${error.code}: ${error.message}`
    : error === undefined
      ? ''
      : String(error)
}
