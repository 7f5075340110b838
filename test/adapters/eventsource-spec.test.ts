import { EventSource, type EventSourceInit } from 'resilient-sse/eventsource'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type Case, type ClientOptions, type Expected, titleOf } from '../spec/cases/case.ts'
import { differences } from '../spec/cases/differences.ts'
import { cases } from '../spec/cases/index.ts'
import { closeLater, expectCase, isComplete, type Observed } from '../spec/observed.ts'
import { SpecServer } from '../spec/server.ts'

const server = await SpecServer.start(cases)
afterAll(() => server[Symbol.asyncDispose]())

// Most of their time the cases wait.
vi.setConfig({ maxConcurrency: 32 })

/** How long nothing more may come, when a case says nothing else. */
const QUIET_MS = 50

let runs = 0

async function runCase(one: Case, expected: Expected, init: EventSourceInit): Promise<void> {
  const run = ++runs
  const { observed, close } = observe(one, server.url(one.id, run), init)
  const dials = () => server.dials(one.id, run)
  try {
    for (const end = performance.now() + 20_000; performance.now() < end; await sleep(5)) {
      if (isComplete(expected, observed, dials())) break
    }
    await sleep(expected.quietMs ?? QUIET_MS)
    expectCase(expected, observed, dials())
  } finally {
    close()
  }
}

/** What an `EventSource` shows of a case, by its own members alone; comments are the core's to tell. */
function observe({ client = {}, expected }: Case, url: string, init: EventSourceInit) {
  const comments: string[] = []
  const source = new EventSource(url, {
    ...optionsOf(client),
    ...init,
    onComment: text => comments.push(text),
  })
  const { readyState } = source
  const observed: Observed = {
    events: [],
    comments,
    told: [],
    get state() {
      if (source.readyState !== EventSource.CLOSED) return 'open'
      return ended ?? 'closed'
    },
    get readyStates() {
      return [readyState, ...openStates, source.readyState]
    },
  }
  const openStates: number[] = []
  let ended: 'ended' | 'failed' | undefined

  source.onopen = event => {
    // The server may call its events so.
    if (event instanceof MessageEvent) return
    openStates.push(source.readyState)
    observed.told.push('open')
    if (client.closeAt === 'open') source.close()
  }
  source.onerror = event => {
    if (event instanceof MessageEvent) return
    const closed = source.readyState === EventSource.CLOSED
    observed.told.push(closed ? 'error: closed' : 'error: connecting')
    if (closed) ended = event.error === undefined ? 'ended' : 'failed'
  }
  const onEvent = (event: Event) => {
    if (!(event instanceof MessageEvent)) return
    const { type, data, lastEventId, origin } = event
    expect(origin).toBe(server.origin)
    observed.told.push('event')
    const count = observed.events.push({ type, data, lastEventId })
    if (count === client.closeAt) source.close()
    if (count === client.reconnectAfter) source.reconnect()
  }
  for (const type of new Set(['message', ...expected.events.map(event => event.type)]))
    source.addEventListener(type, onEvent)
  const { closeAfterMs } = client
  if (closeAfterMs !== undefined) void closeLater(closeAfterMs, expected, observed, () => source.close())
  return { observed, close: () => source.close() }
}

function optionsOf(client: ClientOptions): EventSourceInit {
  const { method, headers, body, lastEventId, baseMs, silenceMs } = client
  return {
    method,
    headers,
    ...(body !== undefined && { body: () => body }),
    ...(lastEventId !== undefined && { resume: { lastEventId } }),
    ...(baseMs !== undefined && { backoff: { baseMs } }),
    ...(silenceMs !== undefined && { heartbeat: { timeoutMs: silenceMs } }),
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** A difference in both modes: undici, and with it every fetch of Node, refuses a header with a control character. */
const UNSENDABLE = 'standard-id-control'

const titled = (rows: Case[]) => rows.map(one => [titleOf(one), one] as const)
const differenceOf = new Map(differences.map(one => [one.id, one.expected]))

const better = (one: Case): Expected => ({ ...one.expected, ...differenceOf.get(one.id) })

describe.concurrent("EventSource with conformance: 'whatwg'", () => {
  test.each(titled(cases))('%s', (_title, one) =>
    runCase(one, one.id === UNSENDABLE ? better(one) : one.expected, { conformance: 'whatwg' }),
  )
})

describe.concurrent('EventSource', () => {
  test.each(titled(cases.filter(({ id }) => !differenceOf.has(id))))('%s', (_title, one) =>
    runCase(one, one.expected, {}),
  )
})

describe.concurrent('EventSource differs on purpose from', () => {
  test.each(titled(cases.filter(({ id }) => differenceOf.has(id))))('%s', (_title, one) =>
    runCase(one, better(one), {}),
  )
})
