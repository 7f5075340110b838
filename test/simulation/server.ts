import { Body } from './body.ts'
import type { Request } from './history.ts'
import type { Entry } from './log.ts'
import type { Leg, Origin, StreamLeg } from './schedule.ts'
import { networkError, Script } from './script.ts'
import type { World } from './world.ts'

const URL_OF_EVENTS = 'http://server.test/events'

/** The server, the network, and the fetch that stands for both. */
export class Server {
  readonly url = URL_OF_EVENTS
  readonly #world: World
  readonly #entries: Entry[]
  #nextLeg = 0
  /** The leg of the dial under way, and how often it was redirected. */
  #leg: Leg | undefined
  #hops = 0
  /** Ids of greetings, and the place in the log that each stands for. */
  readonly #greetings = new Map<string, number>()
  /** The furthest place that any response has reached. */
  #furthest = -1
  #healthyAt: number | undefined

  constructor(world: World) {
    this.#world = world
    this.#entries = world.entries
  }

  readonly fetch = (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const world = this.#world
    const redirected = String(input).includes('/moved/')
    if (!redirected) this.#takeLeg()
    const leg = this.#leg as Leg
    const asked = new Headers(init.headers).get('last-event-id')
    const request: Request = {
      ...world.moment(),
      nr: world.history.requests.length + 1,
      life: world.life.nr,
      redirected,
      asked: asked === null ? undefined : Buffer.from(asked, 'latin1').toString('utf8'),
      leg,
      answered: undefined,
      stream: undefined,
      ended: undefined,
    }
    for (const other of world.history.requests) {
      if (other.ended === undefined && other.life === request.life)
        world.violated('one connection', `request ${request.nr} was sent while request ${other.nr} was open`)
    }
    world.history.requests.push(request)
    return this.#answer(request, leg, init.signal as AbortSignal)
  }

  #takeLeg(): void {
    this.#leg = this.#world.schedule.legs[this.#nextLeg++] ?? this.#world.healthyLeg
    this.#hops = 0
  }

  #answer(request: Request, leg: Leg, signal: AbortSignal): Promise<Response> {
    const world = this.#world
    return new Promise((resolve, reject) => {
      const over = (by: 'answer' | 'refusal' | 'client') => {
        request.ended ??= { ...world.moment(), by }
        signal.removeEventListener('abort', onAbort)
      }
      const onAbort = () => {
        over('client')
        world.clock.cancel(timer)
        if (!world.schedule.options.deafFetch)
          reject(new DOMException('This operation was aborted', 'AbortError'))
      }
      if (signal.aborted) return onAbort()
      signal.addEventListener('abort', onAbort)
      const timer =
        leg.do === 'hang'
          ? undefined
          : world.clock.after(leg.delayMs, () => {
              request.answered = world.moment()
              if (leg.do === 'refuse') {
                world.fault(`refuse ${leg.code}`)
                over('refusal')
                return reject(networkError(leg.code))
              }
              if (leg.do === 'stream') {
                signal.removeEventListener('abort', onAbort)
                return resolve(this.#stream(request, leg, signal))
              }
              const answer = this.#plainAnswer(leg)
              if (answer === 'follow') {
                signal.removeEventListener('abort', onAbort)
                return resolve(this.#stream(request, world.healthyLeg, signal))
              }
              over('answer')
              resolve(answer)
            })
      if (leg.do === 'hang') world.fault('hang')
    })
  }

  #plainAnswer(leg: Exclude<Leg, { do: 'refuse' | 'hang' | 'stream' }>): Response | 'follow' {
    const { fault } = this.#world
    if (leg.do === 'status') {
      fault(leg.retryAfter === undefined ? `status ${leg.status}` : 'Retry-After')
      return response(leg.status, leg.retryAfter === undefined ? {} : { 'retry-after': leg.retryAfter })
    }
    if (leg.do === 'type') {
      fault('content type')
      return response(200, { 'content-type': leg.type })
    }
    if (this.#hops++ >= leg.hops) return 'follow'
    if (!leg.usable) {
      fault('redirect nowhere')
      return response(leg.status, {})
    }
    fault(leg.hops > 20 ? 'redirect loop' : 'redirect')
    return response(leg.status, { location: `/moved/${this.#hops}` })
  }

  #stream(request: Request, leg: StreamLeg, signal: AbortSignal): Response {
    const world = this.#world
    if (leg === world.healthyLeg) {
      this.#healthyAt ??= world.clock.now
    }
    const cursor = request.asked === undefined ? -1 : this.#placeOf(request.asked)
    const start = this.#startOf(leg.from, cursor)
    const body = new Body(world, request, signal, { cursor, start })
    if (leg.from.from !== 'after' && start !== cursor + 1) world.fault(`begins ${leg.from.from}`)
    void new Script(this, body, leg, start, request).play()
    const headers = {
      'content-type': 'text/event-stream',
      ...(leg.framed ? { 'transfer-encoding': 'chunked' } : { connection: 'close' }),
    }
    return { status: 200, headers: new Headers(headers), body } as unknown as Response
  }

  /** The last entry that the client has, if `id` is its cursor; -1 when the server does not know it. */
  #placeOf(id: string): number {
    const greeting = this.#greetings.get(id)
    if (greeting !== undefined) return greeting
    const style = this.#world.schedule.log.ids
    if (style === 'renumbered') return -1
    // Of a batch with one id nobody can say how much arrived: it is sent again.
    if (style === 'shared') return this.#entries.findIndex(entry => entry.id === id) - 1
    return this.#entries.findIndex(entry => entry.id === id)
  }

  #startOf(origin: Origin, cursor: number): number {
    const produced = this.produced()
    const style = this.#world.schedule.log.ids
    // A server without memory goes on where it is; only the last event waits for whoever comes.
    const after = Math.min(style === 'renumbered' ? this.#furthest + 1 : cursor + 1, this.#entries.length - 1)
    switch (origin.from) {
      case 'after':
        return Math.min(after, produced)
      case 'at':
        return Math.max(0, Math.min(cursor, produced))
      case 'start':
        return 0
      case 'now':
        return produced
      case 'overlap':
        return Math.max(0, Math.min(after, produced) - origin.count)
      case 'forgotten':
        return Math.min(after + origin.count, produced)
    }
  }

  /** How many entries exist by now. The last waits for a healthy server, so that it is sure to be sent. */
  produced(): number {
    const { log } = this.#world.schedule
    const { now } = this.#world.clock
    const events = this.#entries.length - 1
    const count = Math.min(events, log.initial + Math.floor(now / log.everyMs))
    const complete = count === events && this.#healthyAt !== undefined && now >= this.#healthyAt + 1_000
    return complete ? events + 1 : count
  }

  entry(index: number): Entry {
    return this.#entries[index] as Entry
  }

  reached(index: number): void {
    this.#furthest = Math.max(this.#furthest, index)
  }

  greet(id: string, place: number): void {
    this.#greetings.set(id, place)
  }

  /** Milliseconds until there may be something new. */
  get nextMs(): number {
    const { log } = this.#world.schedule
    const { now } = this.#world.clock
    const produced = this.produced()
    if (produced > this.#entries.length - 1) return Number.POSITIVE_INFINITY
    if (produced < this.#entries.length - 1) return log.everyMs - (now % log.everyMs)
    return this.#healthyAt === undefined ? 1_000 : Math.max(1, this.#healthyAt + 1_000 - now)
  }

  get world(): World {
    return this.#world
  }
}

function response(status: number, headers: Record<string, string>): Response {
  return { status, headers: new Headers(headers), body: null } as unknown as Response
}
