import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type {
  LifecycleEvent,
  LifecycleType,
  ResilientSse,
  ResilientSseOptions,
  SseError,
  SseEvent,
} from 'resilient-sse'
import type { RecordedRequest } from 'resilient-sse/testing'
import { expect } from 'vitest'

/** Quick enough that a hundred outages fit into a test run; everything else is as users get it. */
export const FAST = {
  backoff: { baseMs: 20, maxMs: 200 },
  heartbeat: { timeoutMs: 300 },
} as const satisfies ResilientSseOptions

/** A `retry:` that replaces the second that lies between two clean ends otherwise. */
export const QUICK_RETRY = '101'

/** What a spawned server imports: the package under test, or what the last build left in dist. */
export function builtTesting(): string {
  const installed = process.env.RESILIENT_SSE_PACKAGE
  const path = installed
    ? `${installed}/dist/testing.js`
    : fileURLToPath(new URL('../../dist/testing.js', import.meta.url))
  if (!existsSync(path)) throw new Error('dist/testing.js is missing: run npm run build first')
  return path
}

/** Headers that the platform adds to each request; nothing here depends on them. */
const PLATFORM = new Set(['host', 'connection', 'user-agent', 'accept-language', 'sec-fetch-mode'])

/** What this package sends with each dial. */
const OWN = { accept: 'text/event-stream', 'cache-control': 'no-cache', 'accept-encoding': 'identity' }

/**
 * Asserts how many requests came and all headers of each: `ids` are the Last-Event-IDs in order, `undefined` for a
 * request without the header; `own`: headers that all of them carry beside the usual ones.
 */
export function expectDials(
  requests: readonly RecordedRequest[],
  ids: readonly (string | undefined)[],
  own: Record<string, string> = {},
): void {
  const expected = ids.map(id => ({ ...OWN, ...own, ...(id === undefined ? {} : { 'last-event-id': id }) }))
  expect(requests.map(headersOf)).toEqual(expected)
}

function headersOf({ headers, rawHeaders, lastEventId }: RecordedRequest): Record<string, string> {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map(name => name.toLowerCase())
  expect(new Set(names).size, 'no header is sent twice').toBe(names.length)
  const own = Object.entries(headers).filter(([name]) => !PLATFORM.has(name))
  // Headers hold octets; ids are text.
  return Object.fromEntries(
    own.map(([name, value]) => [name, (name === 'last-event-id' && lastEventId) || value]),
  )
}

/** Everything a stream said of itself. */
export class Witness {
  readonly events: LifecycleEvent[] = []
  readonly onLifecycle = (event: LifecycleEvent): void => {
    this.events.push(event)
  }

  of<Type extends LifecycleType>(type: Type): Extract<LifecycleEvent, { type: Type }>[] {
    return this.events.filter(event => event.type === type) as Extract<LifecycleEvent, { type: Type }>[]
  }

  get types(): LifecycleType[] {
    return this.events.map(event => event.type)
  }
}

/** Reads until `count` events came and leaves the loop; with `Infinity`, until the stream ends. */
export async function take(stream: AsyncIterable<SseEvent>, count: number): Promise<SseEvent[]> {
  const events: SseEvent[] = []
  if (count === 0) return events
  for await (const event of stream) if (events.push(event) >= count) break
  return events
}

/** The error that ends the loop, and what was delivered before it. */
export async function failure(stream: ResilientSse): Promise<{ error: SseError; events: SseEvent[] }> {
  const events: SseEvent[] = []
  try {
    for await (const event of stream) events.push(event)
  } catch (error) {
    return { error: error as SseError, events }
  }
  throw new Error('the stream ended without an error')
}

export const dataOf = (events: readonly SseEvent[]): string[] => events.map(event => event.data)
export const idsOf = (events: readonly SseEvent[]): (string | undefined)[] => events.map(event => event.id)

export const sleep = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

/** Waits until something is true, and says what it waited for when that does not happen. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 5_000,
): Promise<void> {
  for (const end = performance.now() + timeoutMs; !(await isTrue()); await sleep(2)) {
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms until ${what}`)
  }
}

/** A small generator with a seed, for positions: the same run everywhere. */
export function seeded(text: string): () => number {
  let state = 0x811c9dc5
  for (const char of text) state = Math.imul(state ^ char.charCodeAt(0), 0x01000193)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

/** `count` different positions in rising order, from 1 to `length - 1`. */
export function positions(seed: string, count: number, length: number): number[] {
  const random = seeded(seed)
  const chosen = new Set<number>()
  while (chosen.size < count) chosen.add(1 + Math.floor(random() * (length - 1)))
  return [...chosen].sort((a, b) => a - b)
}
