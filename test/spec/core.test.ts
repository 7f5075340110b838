import { ResilientSse, type ResilientSseOptions } from 'resilient-sse'
import { afterAll, describe, test, vi } from 'vitest'
import type { Case, ClientOptions, Expected } from './cases/case.ts'
import { differences } from './cases/differences.ts'
import { cases } from './cases/index.ts'
import { expectCase, isComplete, type Observed } from './observed.ts'
import { type Cut, SpecServer } from './server.ts'

const server = await SpecServer.start(cases)
afterAll(() => server[Symbol.asyncDispose]())

// Most of their time the cases wait.
vi.setConfig({ maxConcurrency: 32 })

/** How long nothing more may come, when a case says nothing else. */
const QUIET_MS = 50

let runs = 0

async function runCase(one: Case, expected: Expected, cut: Cut): Promise<void> {
  const run = ++runs
  const client = new CoreClient(server.url(one.id, run, cut), one.client ?? {})
  const dials = () => server.dials(one.id, run)
  try {
    for (const end = performance.now() + 20_000; performance.now() < end; await sleep(5)) {
      if (isComplete(expected, client.observed, dials())) break
    }
    await sleep(expected.quietMs ?? QUIET_MS)
    expectCase(expected, client.observed, dials())
  } finally {
    await client.close()
  }
}

/** `ResilientSse`, shown as an `EventSource` shows itself. */
class CoreClient {
  readonly observed: Observed = {
    events: [],
    comments: [],
    told: [],
    state: 'open',
    readyStates: undefined,
  }
  readonly #stream: ResilientSse
  readonly #client: ClientOptions

  constructor(url: string, client: ClientOptions) {
    this.#client = client
    const { told, comments, events } = this.observed
    this.#stream = new ResilientSse(url, {
      ...optionsOf(client),
      onComment: comment => comments?.push(comment),
      onLifecycle: ({ type, ...body }) => {
        if (type === 'open') told.push('open')
        if (type === 'wait') told.push('error: connecting')
        if (type === 'open' && client.closeAt === 'open') void this.#stream.close()
        if (type !== 'close') return
        const { reason } = body as { reason: string }
        this.observed.state = reason === 'end' ? 'ended' : reason === 'error' ? 'failed' : 'closed'
        if (reason === 'end' || reason === 'error') told.push('error: closed')
      },
    })
    void this.#read(events)
    if (client.closeAfterMs !== undefined) setTimeout(() => this.close(), client.closeAfterMs)
  }

  async #read(events: Observed['events']): Promise<void> {
    try {
      for await (const event of this.#stream) {
        const lastEventId = this.#stream.lastEventId ?? ''
        events.push({ type: event.event ?? 'message', data: event.data, lastEventId })
        this.observed.told.push('event')
        if (events.length === this.#client.closeAt) await this.close()
        if (events.length === this.#client.reconnectAfter) this.#stream.reconnect()
      }
    } catch {
      // The state tells it.
    }
  }

  close(): Promise<void> {
    return this.#stream.close()
  }
}

function optionsOf(client: ClientOptions): ResilientSseOptions {
  const { method, headers, body, lastEventId, baseMs, silenceMs } = client
  return {
    method,
    headers,
    ...(body !== undefined && { body: () => body }),
    resume: { lastEventId },
    backoff: { baseMs },
    ...(silenceMs !== undefined && { heartbeat: { timeoutMs: silenceMs } }),
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

const differenceOf = new Map(differences.map(one => [one.id, one]))
const title = ({ suite, name }: Case) => (suite === 'standard' ? name : `${suite}: ${name}`)
const forCore = cases.filter(one => one.only === undefined)

describe.concurrent('the core', () => {
  test.each(forCore.filter(({ id }) => !differenceOf.has(id)).map(one => [title(one), one] as const))(
    '%s',
    (_title, one) => runCase(one, one.expected, 'case'),
  )
})

describe.concurrent('the core does better than', () => {
  test.each(differences.map(({ id, expected }) => [caseOf(id), expected] as const))(
    '$name',
    (one, expected) => runCase(one, { ...one.expected, ...expected }, 'case'),
  )
})

function caseOf(id: string): Case {
  const found = cases.find(one => one.id === id)
  if (found === undefined) throw new Error(`no case ${id}`)
  return found
}
