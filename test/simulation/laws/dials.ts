import type { Life, Moment, Request } from '../history.ts'
import { SHARED_BREAKER } from '../options.ts'
import type { Case, Report } from '../oracle.ts'
import type { OptionsPlan } from '../schedule.ts'
import { type Connection, connectionsOf } from './timeline.ts'

/**
 * Chance never draws below this in a simulation: with full jitter a wait may be anything down to nothing, and a law
 * needs a bound.
 */
export const LEAST_CHANCE = 0.1

const HOUR_MS = 3_600_000
const MAX_MS = 16_000
const RESET_AFTER_MS = 10_000
const LONGEST_COOLDOWN_MS = 300_000

/**
 * Dials per hour. What options and a server's own wishes imply is a least wait between the loss of a connection and the
 * next dial; the bound for an hour is as many of these waits as fit into it. So the law is kept wait by wait:
 *
 * - after n failures since the last proof of health at least the jitter's least share of base · 2^(n-1), up to 16 s;
 * - `retry:` and Retry-After, brought between 100 ms and an hour, are floors;
 * - after a clean end a second since the connection began, whatever it had brought, unless `retry:` sets another pace;
 * - after `threshold` failures the cooldown, which doubles with each probe that fails.
 *
 * And none is longer than twice the larger of all these, so that no server can put a client to sleep.
 */
export function lawOfDials(one: Case, report: Report): void {
  for (const life of one.history.lives) {
    const outage = new Outage(one, life)
    const dials = one.history.requests.filter(request => request.life === life.nr && !request.redirected)
    for (const [index, dial] of dials.entries()) {
      const drop = outage.end(dial)
      const next = dials[index + 1]
      if (next === undefined || drop === undefined) continue
      const waited = next.at - drop.at
      const between = ({ seq }: Moment) => seq > dial.seq && seq < next.seq
      if (outage.isRotation || life.reconnects.some(between)) {
        if (outage.isRotation && waited > 1 && one.schedule.options.breaker === 'off' && !jumped(one))
          report('dials', `life ${life.nr}: request ${next.nr} came ${waited} ms after a rotation`)
        continue
      }
      const [least, most] = outage.bounds(drop)
      if (waited < least - 1)
        report(
          'few dials',
          `life ${life.nr}: request ${next.nr} came after ${round(waited)} ms, before ${round(least)} ms`,
        )
      if (waited > most + 2 && !jumped(one))
        report(
          'no endless wait',
          `life ${life.nr}: request ${next.nr} came after ${round(waited)} ms, later than ${round(most)} ms`,
        )
    }
  }
}

const round = Math.round

/** A clock that runs ahead makes every wait look longer. */
function jumped({ schedule }: Case): boolean {
  return schedule.disturbances.some(({ do: what }) => what === 'freeze')
}

/** What a client has to remember of its failures, from the logs alone. */
class Outage {
  isRotation = false
  readonly #options: OptionsPlan
  readonly #life: Life
  readonly #isExact: boolean
  #unsure = false
  readonly #connections: Connection[]
  #failures = 0
  /** In a row, as the breaker counts them, and how often its probes failed. */
  #counted = 0
  #probesFailed = 0
  /** Whether the last failure was one that counts for the breaker. */
  #breaks = false
  #retryMs = 0
  #retryAfterMs = 0
  #request: Request | undefined
  #connection: Connection | undefined
  #cleanEnd = false
  #progress: 'news' | 'data' | 'nothing' = 'nothing'

  constructor({ schedule, history }: Case, life: Life) {
    this.#options = schedule.options
    this.#life = life
    this.#isExact = schedule.options.resume !== 'off' && !schedule.log.entries.includes('unsendable')
    this.#connections = connectionsOf(history, life)
  }

  /** Takes account of how a dial, or the connection that it became, ended. Returns when the client noticed. */
  end(dial: Request): Moment | undefined {
    const drop = this.#life.told.find(({ event, seq }) => event.type === 'drop' && seq > dial.seq)
    if (drop === undefined || drop.event.type !== 'drop') return undefined
    const { error, reason, opened } = drop.event
    this.#request = dial
    this.#connection = opened
      ? this.#connections.find(
          ({ request }) =>
            request.seq >= dial.seq &&
            request.seq < drop.seq &&
            (request.answered?.seq ?? drop.seq) < drop.seq,
        )
      : undefined
    this.isRotation = reason === 'rotate'
    this.#cleanEnd = reason === 'end'
    this.#retryAfterMs =
      dial.leg.do === 'status' && error.code === 'ERR_SSE_HTTP' ? wishOf(dial.leg.retryAfter, 1_000) : 0
    this.#breaks = false
    const forgiven = this.#judgeConnection(drop)
    if (this.isRotation || (this.#cleanEnd && this.#progress !== 'nothing')) return drop
    this.#failures += 1 + (reason === 'silence' ? forgiven : 0)
    // Headers that are withheld say nothing about the service: a probe that meets them may be followed by another.
    this.#breaks = error.code !== 'ERR_SSE_OPEN_TIMEOUT' && error.retryable
    if (!this.#breaks) return drop
    if (this.#counted >= this.#threshold) this.#probesFailed++
    this.#counted++
    return drop
  }

  get #threshold(): number {
    const { breaker } = this.#options
    return breaker === 'off'
      ? Number.POSITIVE_INFINITY
      : breaker === 'shared'
        ? SHARED_BREAKER.threshold
        : breaker.threshold
  }

  /** What the connection brought, and the failures that it only made forget by its age. */
  #judgeConnection(drop: Moment): number {
    this.#progress = 'nothing'
    const connection = this.#connection
    if (connection === undefined) return 0
    const before = this.#cursorBefore(connection)
    for (const { block, delivery } of connection.fates) {
      if (!delivery || delivery.data === '' || delivery.seq > drop.seq) continue
      if (!this.#isExact && before.includes(block.id)) this.#unsure = true
      if (block.id && !before.includes(block.id)) this.#progress = 'news'
      else if (this.#progress === 'nothing') this.#progress = 'data'
    }
    for (const { value, end } of connection.sent.retries)
      if (end < connection.sent.handed) this.#retryMs = wishOf(value, 1) || this.#retryMs
    const openedAt = connection.request.answered?.at ?? 0
    const lived = connection.sent.reads.some(({ at }) => at - openedAt >= RESET_AFTER_MS)
    if (this.#progress !== 'news' && !lived) return 0
    const forgiven = this.#progress === 'news' ? 0 : this.#failures
    this.#failures = 0
    this.#counted = 0
    this.#probesFailed = 0
    return forgiven
  }

  /**
   * The id in force when a connection began: what it asked for. Not so with resume off, or behind ids that no header can
   * carry; then it may be another, and an event that bears one of the two says nothing of the count.
   */
  #cursorBefore({ request }: Connection): (string | undefined)[] {
    if (this.#isExact) return [request.asked]
    const last = this.#life.deliveries.findLast(({ id, seq }) => id && seq < (request.answered?.seq ?? 0))
    return [request.asked, last?.id]
  }

  /** The shortest and the longest wait before the next dial. */
  bounds(drop: Moment): [least: number, most: number] {
    const { backoff, breaker } = this.#options
    if (this.#unsure) return [0, Number.POSITIVE_INFINITY]
    const spread = this.#options.breaker === 'off' || this.#counted < this.#threshold ? 0 : MAX_MS
    const [coolest, hottest] = this.#cooldown()
    // Other streams may have opened a shared one, or closed it.
    const shared = breaker === 'shared' ? 1.5 * LONGEST_COOLDOWN_MS + 2 * MAX_MS : 0
    if (backoff === 'off') return [shared > 0 ? 0 : coolest, hottest + shared]
    const asked = this.#cleanEnd && this.#progress === 'data' ? 1_000 : 0
    const floor = Math.max(asked, this.#retryMs, this.#retryAfterMs)
    const nominal = nominalDelay(backoff.baseMs, this.#failures)
    let [least, most] = jittered(nominal, backoff)
    if (floor > 0) {
      const larger = Math.max(floor, nominal)
      least = backoff.jitter === 0 ? larger : floor + LEAST_CHANCE * larger
      most = backoff.jitter === 0 ? larger : floor + larger
    }
    const openedAt = this.#connection?.request.answered?.at ?? drop.at
    const pace =
      this.#cleanEnd && this.#retryMs <= 100 && this.#progress !== 'data' ? openedAt + 1_000 - drop.at : 0
    return [Math.max(least, pace, shared > 0 ? 0 : coolest), most + 2_000 + hottest + spread + shared]
  }

  #cooldown(): [number, number] {
    const { breaker } = this.#options
    if (breaker === 'off' || breaker === 'shared' || !this.#breaks || this.#counted < this.#threshold)
      return [0, 0]
    const ms = Math.min(
      breaker.cooldownMs * 2 ** this.#probesFailed,
      Math.max(LONGEST_COOLDOWN_MS, breaker.cooldownMs),
    )
    return [ms, 1.5 * ms]
  }
}

/** What a server asked for, between a tenth of a second and an hour; 0 when it is no number. */
function wishOf(value: string | undefined, unitMs: number): number {
  if (value === undefined || !/^\d+$/.test(value)) return 0
  return Math.min(Math.max(Number(value) * unitMs, 100), HOUR_MS)
}

function nominalDelay(baseMs: number, failures: number): number {
  if (baseMs > 0) return Math.min(MAX_MS, baseMs * 2 ** Math.max(0, failures - 1))
  return failures <= 1 ? 0 : Math.min(MAX_MS, 500 * 2 ** (failures - 2))
}

function jittered(
  nominal: number,
  { jitter, baseMs }: Exclude<OptionsPlan['backoff'], 'off'>,
): [number, number] {
  if (nominal === 0) return [0, 0]
  if (jitter === 'full') return [LEAST_CHANCE * nominal, nominal]
  if (jitter === 'equal') return [((1 + LEAST_CHANCE) * nominal) / 2, nominal]
  if (jitter === 'decorrelated') return [baseMs || 500, MAX_MS]
  return [nominal * (1 - jitter + 2 * jitter * LEAST_CHANCE), nominal * (1 + jitter)]
}
