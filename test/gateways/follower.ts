import { readFileSync } from 'node:fs'
import { type LifecycleEvent, ResilientSse, type ResilientSseOptions } from 'resilient-sse'
import { expect } from 'vitest'
import { sleep, Witness } from '../faults/support.ts'
import type { Gateway } from './gateway.ts'
import type { Publisher } from './publisher.ts'

/** How a client speaks with the gateway: HTTP/1.1 in plain or in TLS, or HTTP/2. */
export type Speech = 'http' | 'https' | 'h2'

const ca = readFileSync(new URL('../fixtures/private-ca.cert.pem', import.meta.url), 'utf8')
const TCP: Record<Speech, ResilientSseOptions> = {
  http: {},
  https: { tcp: { connect: { ca } } },
  h2: { tcp: { connect: { ca }, allowH2: true } },
}

/** Patience that fits into a test; everything else is as users get it. */
export const IMPATIENT = {
  heartbeat: { timeoutMs: 20_000 },
  backoff: { baseMs: 200, maxMs: 1_000 },
} as const satisfies ResilientSseOptions

const UNTIL_MS = 60_000

/** Not as often as in tests that must be quick: thirty of these wait at the same time. */
export async function until(isTrue: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + UNTIL_MS; !isTrue(); await sleep(20)) {
    if (performance.now() > end) throw new Error(`waited ${UNTIL_MS} ms until ${what}`)
  }
}

export type FollowerOptions = ResilientSseOptions & {
  speech?: Speech
  /** What the consumer does with an event, such as nothing for a while. */
  handle?: (number: number) => unknown
}

/** A stream through a gateway: what it delivered, and what it said of itself. */
export class Follower {
  readonly witness = new Witness()
  readonly numbers: number[] = []
  /** By how much the latest event was late. */
  lateMs = 0
  readonly stream: ResilientSse
  readonly #publisher: Publisher

  constructor(
    gateway: Gateway,
    publisher: Publisher,
    { speech = 'http', handle, ...options }: FollowerOptions = {},
  ) {
    const url = speech === 'http' ? gateway.url : gateway.tlsUrl
    const { onLifecycle } = this.witness
    this.stream = new ResilientSse(url, { ...TCP[speech], ...options, onLifecycle })
    this.#publisher = publisher
    this.#follow(handle)
  }

  async #follow(handle: FollowerOptions['handle']): Promise<void> {
    try {
      for await (const { id } of this.stream) {
        const number = Number(id)
        this.numbers.push(number)
        this.lateMs = Math.max(this.lateMs, performance.now() - this.#publisher.publishedAt(number))
        await handle?.(number)
      }
    } catch {
      // Told as `close`, which the tests look at.
    }
  }

  connected(): Promise<void> {
    return until(() => this.opened.length > 0, 'it is connected')
  }

  has(count: number): Promise<void> {
    return until(() => this.numbers.length >= count, `${count} events are here`)
  }

  /** The drops of connections and of dials. */
  get cuts() {
    return this.witness.of('drop').filter(({ opened }) => opened)
  }
  get refusals() {
    return this.witness.of('drop').filter(({ opened }) => !opened)
  }

  cut(times: number): Promise<void> {
    return until(() => this.cuts.length >= times, `it was cut ${times} times`)
  }

  refused(times: number): Promise<void> {
    return until(() => this.refusals.length >= times, `${times} dials failed`)
  }

  /** Waits for the event that was published last. */
  async caughtUp(): Promise<void> {
    const { length } = this.#publisher.numbers
    await until(() => this.numbers.at(-1) === length, `event ${length} is here`)
    // What would come twice comes now.
    await sleep(200)
  }

  /** The cursors of all dials, and of those that became a connection. */
  get dialled(): (string | undefined)[] {
    return this.witness.of('dial').map(({ lastEventId }) => lastEventId)
  }
  get opened(): (string | undefined)[] {
    let cursor: string | undefined
    return this.witness.events.flatMap(event => {
      if (event.type === 'dial') cursor = event.lastEventId
      return event.type === 'open' ? [cursor] : []
    })
  }

  get lost(): number {
    return this.#publisher.numbers.filter(number => !this.numbers.includes(number)).length
  }
  get doubled(): number {
    return this.numbers.length - new Set(this.numbers).size
  }

  expectAllOnceInOrder(): void {
    expect(this.numbers).toEqual(this.#publisher.numbers)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stream.close()
  }
}

/** What a listener was told of things that went wrong, each once, in order. */
export function noticed(events: readonly LifecycleEvent[]): string[] {
  return [...new Set(events.flatMap(event => trouble(event) ?? []))]
}

function trouble(event: LifecycleEvent): string | undefined {
  switch (event.type) {
    case 'drop':
      if (event.error.code === 'ERR_SSE_OPEN_TIMEOUT') return 'no headers'
      return `drop: ${event.reason}`
    case 'gap':
      return `gap: ${event.reason}`
    case 'duplicate':
      return 'duplicate'
    case 'circuit':
      return `circuit: ${event.state}`
    default:
      return undefined
  }
}
