import type { LifecycleEvent } from '../../index.ts'
import type { FaultRecord } from '../../testing/index.ts'
import type { Layer } from '../options.ts'
import type { Stroke } from './plan.ts'
import { CLIENT, type Run, type Told } from './run.ts'

/** `http`: the answer itself, its status, type or framing. The others are the layers of the client. */
export type Noticer = 'tcp' | 'http' | 'heartbeat' | 'resume' | 'breaker' | 'dedupe'

/** What became of one fault. */
export interface Row {
  fault: string
  /** Index of the event that would have come next; undefined when the fault never struck. */
  atEvent: number | undefined
  /** Who had something to say, in order; empty when nobody noticed. */
  noticedBy: Noticer[]
  /** From the strike to the first of them. */
  noticedAfterMs: number | undefined
  /** From the strike to the event that was due. */
  recoveredAfterMs: number | undefined
  lost: number
  doubled: number
}

export interface Report {
  ok: boolean
  events: number
  received: number
  bytes: number
  lost: number
  doubled: number
  altered: number
  disordered: number
  /** Events that are in no log, as the scripts say: greetings and error events. */
  beside: { received: number; sent: number }
  /** Whether the end was the server's 204. */
  ended: boolean
  error: string | undefined
  tookMs: number
  without: readonly Layer[]
  client: typeof CLIENT
  rows: Row[]
  /** Events that the server sent again and the client dropped. */
  replayed: number
  gaps: string[]
  dials: number
  waitedMs: number
}

/** Compares what was received with the server's own records. */
export async function report(run: Run, without: readonly Layer[]): Promise<Report> {
  const { plan, server, reception, told, stream, tookMs, error } = run
  const faults = await server.faults()
  const sent = new Set(await server.sent())
  const events = server.log.length
  const missing: number[] = []
  for (let index = 0; index < events; index++)
    if (reception.firstAt[index] === 0 || !sent.has(index)) missing.push(index)
  const rows = plan.strokes.map((stroke, n) => rowOf(run, faults, stroke, n, missing))
  const stats = stream.stats()
  const ended = told.at(-1)?.event.type === 'close' && error === undefined
  const whole = {
    events,
    received: reception.received === 0 ? 0 : events - missing.length,
    bytes: reception.bytes,
    lost: missing.length,
    doubled: reception.doubled.length,
    altered: reception.altered,
    disordered: reception.disordered,
    beside: { received: reception.strays, sent: plan.strays },
  }
  return {
    ok:
      ended &&
      whole.lost + whole.doubled + whole.altered + whole.disordered === 0 &&
      whole.beside.received === whole.beside.sent &&
      rows.every(row => row.atEvent !== undefined && row.recoveredAfterMs !== undefined),
    ...whole,
    ended,
    error: error === undefined ? undefined : error instanceof Error ? error.message : String(error),
    tookMs,
    without,
    client: CLIENT,
    rows,
    replayed: stats.dedupe.duplicates,
    gaps: told.flatMap(({ event }) => (event.type === 'gap' ? [event.reason] : [])),
    dials: stats.tcp.dials,
    waitedMs: stats.backoff.waitedMs,
  }
}

function rowOf(run: Run, faults: FaultRecord[], stroke: Stroke, n: number, missing: number[]): Row {
  const { reception, plan } = run
  const { fault, place, until } = stroke
  const strike = faults.find(
    ({ request, kind }) => kind === fault.word && scriptOf(run, request) === strikingScript(stroke),
  )
  const recoveredAt = reception.firstAt[until] || undefined
  const noticed = notices(run.told, stroke)
  const nextAt = plan.strokes[n + 1]?.place.at ?? Number.POSITIVE_INFINITY
  // What comes before the first fault is its affair, too: every event belongs to one row.
  const fromAt = n === 0 ? 0 : place.at
  const since = (at: number | undefined) =>
    strike === undefined || at === undefined ? undefined : Math.max(0, at - strike.at)
  return {
    fault: fault.name,
    atEvent: strike?.position,
    noticedBy: [...new Set(noticed.map(({ by }) => by))],
    noticedAfterMs: since(noticed[0]?.at),
    recoveredAfterMs: since(recoveredAt),
    lost: missing.filter(index => index >= fromAt && index < nextAt).length,
    doubled: reception.doubled.filter(({ received }) => received >= fromAt && received < nextAt).length,
  }
}

/** Which script of the plan a request was answered with. */
function scriptOf({ armed }: Run, request: number): number {
  const { firstRequest, firstScript } = armed.findLast(one => one.firstRequest <= request) ?? {
    firstRequest: 0,
    firstScript: 0,
  }
  return firstScript + request - firstRequest
}

/** The script that has the fault's own word. */
function strikingScript({ fault, scripts: [first, end] }: Stroke): number {
  if (fault.resume !== undefined) return end
  return fault.dials === undefined ? first : first + 1
}

/** What the client had to say between the last event before the fault and its recovery. */
function notices(told: readonly Told[], { fault, place, until }: Stroke): { by: Noticer; at: number }[] {
  const meanwhile = told.filter(({ received }) => received >= place.at && received <= until)
  const notices = meanwhile.flatMap((one, index) => {
    const by = noticer(one.event, meanwhile.slice(0, index))
    return by === undefined ? [] : [{ by, at: one.at, type: one.event.type }]
  })
  // A fault of the next dial needs a connection that breaks first; that break is not what is measured.
  const needsBreak = fault.dials !== undefined || fault.resume !== undefined || fault.word === 'refuse'
  const broken = needsBreak ? notices.findIndex(({ type }) => type === 'drop') : -1
  return notices.slice(broken + 1)
}

function noticer(event: LifecycleEvent, before: readonly Told[]): Noticer | undefined {
  switch (event.type) {
    case 'drop':
      return event.reason === 'silence' ? 'heartbeat' : event.reason === 'network' ? 'tcp' : 'http'
    case 'open': {
      // Dialled one address, arrived at another.
      const dialled = before.findLast(one => one.event.type === 'dial')?.event
      return dialled?.type === 'dial' && dialled.url !== event.url ? 'http' : undefined
    }
    case 'gap':
      return 'resume'
    case 'duplicate':
      return 'dedupe'
    case 'circuit':
      return event.state === 'open' ? 'breaker' : undefined
    default:
      return undefined
  }
}
