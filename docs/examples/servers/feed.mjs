// A feed of server-sent events that its clients can resume. Plain Node without dependencies; docs/server.md explains it.
import { setTimeout as sleep } from 'node:timers/promises'
import { Journal } from './journal.mjs'
import { Subscription } from './subscription.mjs'

/** @typedef {{ seq: number, data: string, event?: string | undefined }} FeedEvent */

const STREAM = {
  'Content-Type': 'text/event-stream',
  // no-transform: nobody on the way may compress it. A compressor collects a block before it sends any of it.
  'Cache-Control': 'no-cache, no-transform',
  // nginx, and what is built on it, passes each write on at once.
  'X-Accel-Buffering': 'no',
}
// Without no-store a cache may keep a 410 for as long as it likes (RFC 9110, 15.5.11).
const REFUSAL = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

export class Feed {
  /** @type {Map<number, FeedEvent & { text: string }>} The replay buffer, oldest first; all clients share it. */
  #events = new Map()
  #chars = 0
  #last = 0
  /** @type {Set<Subscription>} */
  #subscriptions = new Set()
  #ending = false
  #journal
  #maxEvents
  #maxChars
  #heartbeatMs
  #retryMs
  #endMs

  /**
   * @param {object} [options]
   * @param {string} [options.file] Where events and their numbering survive a restart. Without it, nowhere.
   * @param {number} [options.maxEvents] Events that can be replayed.
   * @param {number} [options.maxChars] Their size together, so that large events do not fill the memory.
   * @param {number} [options.heartbeatMs] Between two comments.
   * @param {number} [options.retryMs] How long clients are asked to wait before they come back.
   * @param {number} [options.endMs] Over how long `end()` spreads the clients.
   */
  constructor(options = {}) {
    this.#maxEvents = options.maxEvents ?? 10_000
    this.#maxChars = options.maxChars ?? 16_000_000
    this.#heartbeatMs = options.heartbeatMs ?? 15_000
    this.#retryMs = options.retryMs ?? 2_000
    this.#endMs = options.endMs ?? 10_000
    this.#journal = new Journal(options.file)
    for (const event of this.#journal.load()) this.#keep(event)
    this.#journal.rewrite(this.#events.values())
  }

  /**
   * Sends an event to every client, and keeps it for those who come back.
   * @param {{ data: string, event?: string | undefined }} event
   * @returns {string} Its id.
   */
  publish({ data, event }) {
    // A line feed in it would be a field of its own choice.
    if (event !== undefined && /[\r\n]/.test(event)) throw new TypeError('The type of an event is one line')
    const kept = { seq: this.#last + 1, data, event }
    this.#journal.append(kept)
    this.#keep(kept)
    if (this.#journal.isLong(this.#events.size)) this.#journal.rewrite(this.#events.values())
    for (const subscription of this.#subscriptions) {
      if (this.has(subscription.position)) subscription.wake()
      else subscription.cut()
    }
    return this.#id(kept.seq)
  }

  /**
   * The answer to a client: to be sent as it is, whatever the framework.
   * @param {string | undefined} lastEventId What it has, see {@link lastEventIdOf}. `undefined`: it begins with what is
   * published from now on.
   * @returns {{ status: 200, headers: Record<string, string>, body: Subscription }
   *   | { status: 410 | 503, headers: Record<string, string>, body: string }}
   */
  subscribe(lastEventId) {
    if (this.#ending) {
      // For a request on a connection that is still open while this process ends.
      const headers = {
        ...REFUSAL,
        'Retry-After': String(Math.ceil(this.#retryMs / 1_000)),
        Connection: 'close',
      }
      return { status: 503, headers, body: JSON.stringify({ error: 'ending' }) }
    }
    const position = lastEventId === undefined ? this.#last : this.#position(lastEventId)
    if (position === undefined || !this.has(position)) {
      // Not a stream that goes on somewhere else: nobody would notice what is missing.
      const [oldest, newest] = [this.#id(this.#last - this.#events.size), this.#id(this.#last)]
      return { status: 410, headers: REFUSAL, body: JSON.stringify({ error: 'evicted', oldest, newest }) }
    }
    // The priming id: a connection that breaks before the first event has a place to resume from.
    const priming = `retry: ${this.#retryMs}\n${lastEventId === undefined ? `id: ${this.#id(position)}\n` : ''}\n`
    const body = new Subscription(this, position, priming, this.#heartbeatMs)
    return { status: 200, headers: STREAM, body }
  }

  /**
   * Ends all streams, before the process ends: in waves and with different times to come back, so that not all clients
   * arrive at the next process in one instant. Resolves when all have been told.
   */
  async end({ waves = 10, graceMs = 2_000 } = {}) {
    this.#ending = true
    const clients = [...this.#subscriptions].sort(() => Math.random() - 0.5)
    const size = Math.ceil(clients.length / waves)
    while (clients.length > 0) {
      for (const client of clients.splice(0, size)) {
        client.end(Math.round(this.#retryMs + Math.random() * this.#endMs))
      }
      if (clients.length > 0) await sleep(this.#endMs / waves)
    }
    // Who does not read does not hold up the end of the process.
    for (let waitedMs = 0; this.#subscriptions.size > 0 && waitedMs < graceMs; waitedMs += 50) await sleep(50)
    for (const subscription of this.#subscriptions) subscription.cut()
    // The last goodbye is still on its way through the response.
    await sleep(50)
  }

  /** Clients that are connected. */
  get size() {
    return this.#subscriptions.size
  }

  /** Whether everything after `position` can still be sent. @param {number} position */
  has(position) {
    return position >= this.#last - this.#events.size && position <= this.#last
  }

  /** What follows `position`, up to 64 KiB or one event. @param {number} position */
  after(position) {
    let text = ''
    let seq = position
    for (; seq < this.#last && text.length < 65_536; seq++) text += this.#events.get(seq + 1)?.text
    return { text, position: seq }
  }

  /** @param {Subscription} subscription */
  join(subscription) {
    this.#subscriptions.add(subscription)
  }

  /** @param {Subscription} subscription */
  leave(subscription) {
    this.#subscriptions.delete(subscription)
  }

  /** @param {FeedEvent} event */
  #keep(event) {
    const { seq, data, event: type } = event
    const lines = data.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
    const text = `id: ${this.#id(seq)}\n${type === undefined ? '' : `event: ${type}\n`}${lines.join('')}\n`
    this.#events.set(seq, { seq, data, event: type, text })
    this.#chars += text.length
    this.#last = seq
    for (const [oldest, { text }] of this.#events) {
      // The newest stays, whatever its size: the numbering goes on from it.
      const fits = this.#events.size <= this.#maxEvents && this.#chars <= this.#maxChars
      if (fits || oldest === seq) break
      this.#events.delete(oldest)
      this.#chars -= text.length
    }
  }

  /** @param {number} seq */
  #id(seq) {
    return `${this.#journal.epoch}-${seq}`
  }

  /** `undefined` for an id of another numbering. @param {string} id */
  #position(id) {
    const [, epoch, seq] = /^(\w+)-(\d+)$/.exec(id) ?? []
    return epoch === this.#journal.epoch ? Number(seq) : undefined
  }
}

/**
 * Where a client wants to go on. The header is the newer one: a browser repeats the URL it began with, and adds the
 * header when it comes back. The parameter is for its first dial (a snapshot that was rendered into the page).
 * @param {string | string[] | undefined} header `Last-Event-ID`
 * @param {string | null | undefined} parameter `?lastEventId=`
 */
export function lastEventIdOf(header, parameter) {
  return String(header ?? '') || parameter || undefined
}

/**
 * Sends an answer of the feed through a response of Node's: `node:http`, Express, and NestJS on Express.
 * @param {import('node:http').ServerResponse} response
 * @param {ReturnType<Feed['subscribe']>} answer
 */
export async function send(response, { status, headers, body }) {
  response.writeHead(status, headers)
  if (typeof body === 'string') return void response.end(body)
  // Health checks like to ask by HEAD, which has no end if it is answered like GET.
  if (response.req.method === 'HEAD') return void response.end()
  // At once: until the first write Node keeps the headers, and the client cannot know whether it is connected.
  response.flushHeaders()
  let proceed = () => {}
  response.on('drain', () => proceed())
  response.on('close', () => {
    body.return()
    proceed()
  })
  body.onCut = () => response.destroy()
  for await (const chunk of body) {
    if (response.write(chunk)) continue
    // Back-pressure: while the client does not read, nothing is asked of the feed, so nothing piles up here.
    await new Promise(resolve => {
      proceed = () => resolve(undefined)
    })
  }
  response.end()
}
