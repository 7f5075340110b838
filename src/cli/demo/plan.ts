import {
  answer,
  type ConnectionScript,
  cut,
  type EventLogOptions,
  end,
  eventLog,
  heartbeats,
  rest,
  type ServerEvent,
  type Step,
  send,
  wait,
} from '../../testing/index.ts'
import { type Fault, type Place, SPECIAL_IDS } from './faults.ts'

/** Below this the faults would stand on each other's feet. */
export const LEAST_EVENTS = 400

/** A fault at its place. */
export interface Stroke {
  fault: Fault
  place: Place
  /** Index of the event whose arrival says that the stream has recovered. */
  until: number
  /** Its connections in the plan's script: the one that it ends, and those that are all its own. */
  scripts: readonly [first: number, end: number]
}

/** What the server is going to do. */
export interface Plan {
  log: EventLogOptions
  /** Events that have ids of their own, and follow those of the log. */
  extra: readonly ServerEvent[]
  strokes: readonly Stroke[]
  /** One script a connection. `now`: the moment for those that depend on it. */
  script(now: number): ConnectionScript[]
  /** After the script: nothing is left, and the server says so (204). */
  otherwise: ConnectionScript
  /** Events that the scripts send beside the log (greetings, errors). */
  strays: number
}

// Between the events before a fault and the fault itself: the client has them, and times are measured cleanly.
const BREATH = wait(30)
// The client is waited for, and the connection reset when it is there. Should it never come, its turn passes.
const RENDEZVOUS = heartbeats({ everyMs: 100, count: 20 })
/** Faults with special ids share the end of the log, in distances of at most this many events. */
const TAIL_SLOT = 100

/** The same arguments give the same plan in every process. `elsewhere`: another origin that is the same server. */
export function makePlan(events: number, seed: number, elsewhere: string, faults: readonly Fault[]): Plan {
  const next = random(seed)
  const plain = shuffled(
    faults.filter(fault => fault.ids === undefined),
    next,
  )
  const special = faults.filter(fault => fault.ids !== undefined)
  const tailSlot = Math.min(TAIL_SLOT, Math.floor(events / (faults.length + 1)))
  const tail = events - (special.length + 1) * tailSlot
  const places = [
    ...spread(plain.length, 0, tail / plain.length, next),
    ...spread(special.length, tail, tailSlot, next),
  ]
  const few = Math.max(2, Math.min(20, Math.floor(tailSlot / 4)))
  const strokes: Stroke[] = []
  for (const [index, fault] of [...plain, ...special].entries()) {
    const place = { at: places[index] as number, few, elsewhere }
    const first = strokes.at(-1)?.scripts[1] ?? 0
    const own = fault.dials?.(place, 0).length ?? 0
    strokes.push({
      fault,
      place,
      until: place.at + (fault.during?.(place) ?? 0),
      scripts: [first, first + 1 + own],
    })
  }
  const log = { count: special.length === 0 ? events : tail, seed, bytes: [20, 1_000] } as const
  return {
    log,
    extra: specialEvents(events, log, strokes),
    strokes,
    script: now => scriptOf(strokes, now),
    otherwise: [answer(204)],
    strays: scriptOf(strokes, 0)
      .flat()
      .filter(step => step.do === 'event').length,
  }
}

function scriptOf(strokes: readonly Stroke[], now: number): ConnectionScript[] {
  const scripts: ConnectionScript[] = []
  let sent = 0
  let resume: { words: Step[]; again: number } = { words: [], again: 0 }
  for (const { fault, place, until } of strokes) {
    const ending = typeof fault.end === 'function' ? fault.end(place) : (fault.end ?? [cut()])
    scripts.push([
      ...resume.words,
      ...(fault.before ?? []),
      send(resume.again + place.at - sent),
      fault.timed ? RENDEZVOUS : BREATH,
      ...ending,
    ])
    scripts.push(...(fault.dials?.(place, now) ?? []))
    sent = until
    resume = fault.resume?.(place) ?? { words: [], again: fault.unsendable ?? 0 }
  }
  scripts.push([...resume.words, rest(), end()])
  return scripts
}

/** Positions, one in each of `count` slots of `size` events, with room around each. */
function spread(count: number, from: number, size: number, next: () => number): number[] {
  const room = Math.max(1, size - 2 * SPECIAL_IDS)
  return Array.from({ length: count }, (_, slot) =>
    Math.floor(from + slot * size + SPECIAL_IDS + next() * room),
  )
}

/** Shuffled, but whatever needs the server's whole memory comes before what makes it forget. */
function shuffled(faults: readonly Fault[], next: () => number): Fault[] {
  const order = faults
    .map(fault => ({ fault, key: next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ fault }) => fault)
  const places = order.flatMap(({ memory }, index) => (memory === undefined ? [] : [index]))
  const inOrder = places
    .map(index => order[index] as Fault)
    .sort((a, b) => Number(a.memory === 'forgets') - Number(b.memory === 'forgets'))
  for (const [n, index] of places.entries()) order[index] = inOrder[n] as Fault
  return order
}

function specialEvents(events: number, log: EventLogOptions, strokes: readonly Stroke[]): ServerEvent[] {
  const all = eventLog({ ...log, count: events })
  return Array.from({ length: events - (log.count ?? 0) }, (_, offset) => {
    const index = (log.count ?? 0) + offset
    const near = strokes.find(
      ({ fault, place }) => fault.ids !== undefined && index < place.at && index >= place.at - SPECIAL_IDS,
    )
    const event = all.at(index)
    return near?.fault.ids === undefined ? event : { ...event, id: near.fault.ids(index) }
  })
}

/** mulberry32: the same seed gives the same numbers everywhere. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000
  }
}
