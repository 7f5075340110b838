import type { Block, Life } from '../history.ts'
import type { Case, Report } from '../oracle.ts'
import { type Connection, connectionsOf, type Fate, wasDropped } from './timeline.ts'

/**
 * What was delivered is what the server could replay, once, in order. The law holds for each life by itself: what a new
 * process does not know of the last one stands in the law of the cursor.
 */
export function lawOfDelivery(one: Case, report: Report): void {
  for (const life of one.history.lives) {
    const connections = connectionsOf(one.history, life)
    const seen = new Seen(one, life)
    for (const connection of connections) {
      const where = `life ${life.nr}, request ${connection.request.nr}`
      for (const { id, data } of connection.strangers)
        report(
          'as it was sent',
          `${where} did not carry ${id} ${JSON.stringify(data)} whole, or not in this order`,
        )
      seen.beginConnection(connection)
      for (const fate of connection.fates) {
        if (wasDropped(fate) && !seen.mayDrop(fate))
          report('nothing dropped', `${where}: ${name(fate)} was new, and was dropped`)
        if (fate.delivery !== undefined && seen.mustDrop(fate))
          report('once', `${where}: ${name(fate)} had been delivered on an earlier connection`)
        seen.note(fate)
      }
      seen.endConnection()
    }
    findLost(one, connections, (index, max) =>
      report('nothing lost', `life ${life.nr}: event ${index} never came, although ${max} did`),
    )
  }
}

/** What makes an event itself to a client: id and data. No two entries of a log share both. */
function keyOf({ id, data }: Block): string {
  return `${id} ${data}`
}

function name({ block }: Fate): string {
  return `${block.id ?? 'without id'} ${JSON.stringify(block.data)}`
}

/** What a client can know of the events that it was handed in one life. */
class Seen {
  readonly #one: Case
  readonly #life: Life
  /** What was delivered with an id of its own on earlier connections. */
  readonly #delivered = new Set<string>()
  /** Ids that stood for two events of one connection: they identify neither. */
  readonly #ambiguous = new Set<string>()
  /** All events with an id, in the order in which they came; of one read those that were dropped come first. */
  readonly #order: { key: string; read: string; delivered: boolean }[] = []
  /** The last place in the log that an earlier connection delivered an event from. */
  #furthest = -1
  #isFullReplay = false
  #connections = 0
  /** The cursor of this connection, whether its event has come again, and where its ids begin in the order. */
  #cursor: string | undefined
  #passed = false
  #beganAt = 0
  #now: Fate[] = []
  #idsNow = new Set<string>()

  constructor(one: Case, life: Life) {
    this.#one = one
    this.#life = life
  }

  mayDrop({ block }: Fate): boolean {
    const { dedupe } = this.#one.schedule.options
    if (dedupe === 'off' || !block.id || block.data === undefined) return false
    if (this.#delivered.has(keyOf(block)) || this.#wasPassedOver(block, dedupe.capacity)) return true
    // Of the stored id nothing but the id is known: the first event that bears it is taken for the one handled before.
    return dedupe.by === 'id' && block.id === this.#life.stored && !this.#idsNow.has(block.id)
  }

  /**
   * What a server passed over once, when it went on live, looks in a replay of everything like what was delivered, as soon
   * as more was delivered than is remembered.
   */
  #wasPassedOver({ entry }: Block, capacity: number): boolean {
    const isBehind = entry !== undefined && entry.index < this.#furthest
    return this.#isFullReplay && isBehind && this.#delivered.size > capacity
  }

  mustDrop({ block, delivery }: Fate): boolean {
    const { dedupe } = this.#one.schedule.options
    if (dedupe === 'off' || !block.id || block.data === undefined || !this.#delivered.has(keyOf(block)))
      return false
    const { log, options } = this.#one.schedule
    // An id that comes back for another event makes the client forget all ids. With resume off it does not say so.
    const reuses = log.ids === 'shared' || log.ids === 'renumbered'
    if (this.#ambiguous.has(block.id) || (reuses && options.resume === 'off')) return false
    if (!this.#isRemembered(block, dedupe.capacity)) return false
    // Ids that a server has used for something else mean nothing any more, and the client has said so.
    return !this.#life.told.some(
      ({ event, seq }) => event.type === 'gap' && event.reason === 'ids-reused' && seq < (delivery?.seq ?? 0),
    )
  }

  /**
   * As far as the capacity reaches: so many other ids may have come since it was delivered. Those of this connection
   * count for nothing until it has passed the cursor.
   */
  #isRemembered(block: Block, capacity: number): boolean {
    const last = this.#order.findLastIndex(({ key, delivered }) => delivered && key === keyOf(block))
    const since = this.#order.slice(last, this.#passed ? undefined : this.#beganAt)
    return new Set(since.map(({ key }) => key)).size <= capacity
  }

  note(fate: Fate): void {
    const { id, data } = fate.block
    if (!id || data === undefined) return
    this.#passed ||= id === this.#cursor
    if (this.#idsNow.has(id)) this.#ambiguous.add(id)
    this.#idsNow.add(id)
    const read = `${this.#connections} ${fate.read}`
    const delivered = fate.delivery !== undefined
    const at = delivered ? -1 : this.#order.findIndex(one => one.read === read && one.delivered)
    this.#order.splice(at === -1 ? this.#order.length : at, 0, { key: keyOf(fate.block), read, delivered })
    this.#now.push(fate)
  }

  beginConnection({ request, sent }: Connection): void {
    this.#cursor = request.asked
    this.#isFullReplay = sent.start === 0
    // With resume off the client still has a cursor, which it does not show.
    const isHidden = this.#one.schedule.options.resume === 'off'
    this.#passed = isHidden || (sent.cursor < sent.start && request.asked !== undefined)
    this.#beganAt = this.#order.length
  }

  endConnection(): void {
    for (const { block, delivery } of this.#now) {
      if (delivery === undefined) continue
      this.#delivered.add(keyOf(block))
      this.#furthest = Math.max(this.#furthest, block.entry?.index ?? -1)
    }
    this.#connections++
    this.#now = []
    this.#idsNow = new Set()
  }
}

/**
 * Every event between the first that a life was owed and the last that it got must have come, unless a server began
 * behind the id that it was asked for: what lies between it could not, or would not, replay.
 */
function findLost(one: Case, connections: Connection[], report: (index: number, max: number) => void): void {
  const came = new Set<number>()
  const unreplayable = new Set<number>()
  let first: number | undefined
  for (const { sent, fates } of connections) {
    // A server that numbers anew knows no place: whatever it does not send now, it never will.
    const cursor = one.schedule.log.ids === 'renumbered' ? -1 : sent.cursor
    for (let index = cursor + 1; index < sent.start; index++) unreplayable.add(index)
    first ??= cursor + 1
    // What was dropped has been judged already.
    for (const fate of fates)
      if (fate.certain && fate.block.entry !== undefined) came.add(fate.block.entry.index)
  }
  const max = Math.max(-1, ...came)
  for (const { index, data } of one.entries.slice(first ?? 0, max + 1))
    if (data !== undefined && !came.has(index) && !unreplayable.has(index)) report(index, max)
}
