import { SseError } from '../../../src/index.ts'
import type { Life, Request } from '../history.ts'
import type { Case, Report } from '../oracle.ts'
import { connectionsOf } from './timeline.ts'

const RETRIED = [408, 425, 429, 500, 502, 503, 504]

/** Every stream comes to its end, in time, for a reason that the server or the consumer gave, and by its right name. */
export function lawOfEnds(one: Case, report: Report): void {
  const { history } = one
  if (history.outcome !== 'over') {
    const { length } = history.lives
    report(
      'no hanging',
      `life ${length} was still at it after ${Math.round(history.endedAt)} ms (${history.outcome})`,
    )
  }
  for (const life of history.lives) {
    const requests = history.requests.filter(request => request.life === life.nr)
    checkFinal(life, requests, report)
    checkSilence(one, life, report)
    if (life.end?.how === 'error') checkError(one, life, requests, report)
    if (life.end?.how === 'done' && !mayBeDone(one, life, requests.at(-1)))
      report('typed errors', `life ${life.nr} was done, and nothing had said so`)
  }
}

/** A final answer is the last: nobody asks again. */
function checkFinal(life: Life, requests: Request[], report: Report): void {
  for (const [index, { leg, nr, ended }] of requests.entries()) {
    const isFinal = leg.do === 'status' && ended?.by === 'answer' && !RETRIED.includes(leg.status)
    if (isFinal && requests[index + 1] !== undefined)
      report('final is final', `life ${life.nr} dialled again after the ${leg.status} of request ${nr}`)
  }
}

function mayBeDone({ schedule }: Case, life: Life, last: Request | undefined): boolean {
  if (last?.leg.do === 'status' && last.leg.status === 204) return true
  const drop = life.told.findLast(({ event }) => event.type === 'drop')
  const isEnd = drop?.event.type === 'drop' && drop.event.reason === 'end'
  return isEnd && !schedule.options.reconnectOnEnd
}

/** Death by silence: nothing came, and that was not for a consumer that did not read. */
function checkSilence(one: Case, life: Life, report: Report): void {
  const { options, disturbances, consumer } = one.schedule
  const { heartbeat } = options
  const hinted = disturbances.some(({ do: what }) => what === 'sleep' || what === 'freeze')
  const patience = heartbeat === 'auto' ? 30_000 : heartbeat
  const drops = life.told.filter(({ event }) => event.type === 'drop' && event.reason === 'silence')
  if (drops.length === 0) return
  if (patience === 'off') report('silence', `life ${life.nr} was told of silence with heartbeat off`)
  const connections = connectionsOf(one.history, life)
  for (const { at, seq } of drops) {
    const connection = connections.findLast(({ request }) => (request.answered?.seq ?? seq) < seq)
    const read = connection?.sent.reads.findLast(reading => reading.seq < seq)?.at ?? 0
    const busy = consumer.reads === 'ahead' ? 0 : lastAtWork(life, seq)
    const silentMs = at - Math.max(read, busy, connection?.request.answered?.at ?? 0)
    // The watchdog looks at its flags ten times in the shortest patience, and once a second at least.
    const least =
      (hinted ? Math.min(Number(patience), 5_000) : Number(patience)) - Math.min(1_000, Number(patience) / 10)
    if (silentMs < least - 1)
      report(
        'silence',
        `life ${life.nr} was told of silence ${Math.round(silentMs)} ms after the last byte was read`,
      )
  }
}

/** When the consumer was last at work on an event: until now, if it has not said that it is done. */
function lastAtWork({ deliveries }: Life, seq: number): number {
  const last = deliveries.findLast(delivery => delivery.seq < seq)
  if (last === undefined) return 0
  return last.handled === undefined || last.handled.seq > seq ? Number.POSITIVE_INFINITY : last.handled.at
}

/** Whatever reaches the consumer is an SseError whose code says what the server did. */
function checkError({ schedule }: Case, life: Life, requests: Request[], report: Report): void {
  const error = life.end?.error
  if (!(error instanceof SseError)) {
    report('typed errors', `life ${life.nr} ended with ${String((error as Error)?.stack ?? error)}`)
    return
  }
  const { options, store } = schedule
  const leg = requests.at(-1)?.leg
  const opened = life.told.some(({ event }) => event.type === 'open')
  const exhausted = options.backoff !== 'off' && Number.isFinite(options.backoff.maxAttempts)
  const reasons: Partial<Record<string, boolean>> = {
    ERR_SSE_HTTP: leg?.do === 'status' && leg.status !== 204 && (exhausted || !RETRIED.includes(leg.status)),
    ERR_SSE_CONTENT_TYPE: leg?.do === 'type' && (exhausted || !opened),
    ERR_SSE_CERTIFICATE: leg?.do === 'refuse' && leg.code.startsWith('CERT') && (exhausted || !opened),
    ERR_SSE_REDIRECT: leg?.do === 'redirect' && (!leg.usable || leg.hops > 20),
    ERR_SSE_CIRCUIT_OPEN: typeof options.breaker === 'object' && options.breaker.onOpen !== 'wait',
    ERR_SSE_GAP: life.told.some(({ event }) => event.type === 'gap'),
    ERR_SSE_STORE:
      store !== undefined &&
      (store.failingLoads > 0 || store.saves.some(({ ms, fails }) => fails || ms >= 10_000)),
  }
  const passing = ['ERR_SSE_NETWORK', 'ERR_SSE_HEARTBEAT', 'ERR_SSE_OPEN_TIMEOUT', 'ERR_SSE_END']
  if (reasons[error.code] ?? (passing.includes(error.code) && exhausted)) return
  report(
    'typed errors',
    `life ${life.nr} ended with ${error.code} (${error.message}), and nothing had called for it`,
  )
}
