import { ResilientSse, type ResilientSseOptions } from 'resilient-sse'
import type { Case, ClientOptions, Expected } from './cases/case.ts'
import { closeLater, expectCase, isComplete, type Observed } from './observed.ts'
import type { Cut, SpecServer } from './server.ts'

/** How long nothing more may come, when a case says nothing else. */
const QUIET_MS = 50

let runs = 0

/** One case, driven through `ResilientSse` over the socket and judged. */
export async function runCase(server: SpecServer, one: Case, expected: Expected, cut: Cut): Promise<void> {
  const run = ++runs
  const client = new CoreClient(server.url(one.id, run, cut), one.client ?? {})
  const dials = () => server.dials(one.id, run)
  const closeAfterMs = one.client?.closeAfterMs
  if (closeAfterMs !== undefined)
    void closeLater(closeAfterMs, expected, client.observed, () => client.close())
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
        if (type === 'open' && client.closeAt === 'open') void this.close()
        if (type !== 'close') return
        const { reason } = body as { reason: string }
        this.observed.state = reason === 'end' ? 'ended' : reason === 'error' ? 'failed' : 'closed'
        if (reason === 'end' || reason === 'error') told.push('error: closed')
      },
    })
    void this.#read(events)
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
