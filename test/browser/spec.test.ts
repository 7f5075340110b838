import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Case, type ClientOptions, type Expected, titleOf } from '../spec/cases/case.ts'
import { differences } from '../spec/cases/differences.ts'
import { cases } from '../spec/cases/index.ts'
import { expectCase, isComplete, type Observed } from '../spec/observed.ts'
import { SpecServer } from '../spec/server.ts'
import type { PlainOptions, Seen } from './in-page.ts'
import { clientScript, openBrowser, PAGE, Place } from './places.ts'

/** Rows that no page can pass, whatever the client does. */
const LEFT_OUT: { id: string; why: string }[] = [
  {
    id: 'contract-reconnection-partial',
    why: 'Chromium’s fetch throws away what a page has not read yet of a body that breaks. With an id it is asked for again; without, a gap is told.',
  },
]

/** How long nothing more may come, when a case says nothing else. */
const QUIET_MS = 50

/** Servers with a page each; two cases at a time on each, because a browser allows six connections to an origin. */
const SERVERS = 4
const slots: { server: SpecServer; place: Place }[] = []
let context: BrowserContext
let runs = 0

beforeAll(async () => {
  context = await openBrowser()
  const site = [
    document('page', 'text/html', PAGE),
    document('client', 'text/javascript', await clientScript()),
  ]
  for (let count = 0; count < SERVERS; count++) {
    const server = await SpecServer.start([...cases, ...site])
    const place = await Place.open(context, 'page', {
      pageUrl: server.url('page', 0),
      scriptUrl: server.url('client', 0),
    })
    slots.push({ server, place }, { server, place })
  }
})
afterAll(async () => {
  await context.close()
  for (const { server } of slots.filter((_, index) => index % 2 === 0)) await server[Symbol.asyncDispose]()
})

/** A file of the page, as the server has it: a case. */
function document(id: string, contentType: string, text: string): Case {
  return {
    id,
    suite: 'standard',
    name: id,
    answers: [{ contentType, body: [text], end: 'clean' }],
    expected: { events: [], dials: [], state: 'closed' },
  }
}

async function runCase(one: Case, expected: Expected, init: PlainOptions): Promise<void> {
  const slot = slots.pop()
  if (slot === undefined) throw new Error('more tests at a time than slots')
  const { server, place } = slot
  const run = ++runs
  const { client = {} } = one
  const dials = () => server.dials(one.id, run)
  const stream = await place.start({
    kind: 'ours',
    url: server.url(one.id, run),
    init: { ...optionsOf(client), ...init },
    types: expected.events.map(({ type }) => type),
    closeAt: client.closeAt,
    closeAfterMs: client.closeAfterMs,
    reconnectAfter: client.reconnectAfter,
  })
  try {
    let observed = observe(await stream.look())
    for (const end = performance.now() + 20_000; performance.now() < end; await sleep(20)) {
      observed = observe(await stream.look())
      if (isComplete(expected, observed, dials())) break
    }
    await sleep(expected.quietMs ?? QUIET_MS)
    expectCase(expected, observe(await stream.look()), dials())
  } finally {
    await stream.close()
    slots.push(slot)
  }
}

function observe({ events, comments, told, closed, readyStates, readyState }: Seen): Observed {
  const state = { end: 'ended', error: 'failed' }[closed ?? ''] ?? (closed === undefined ? 'open' : 'closed')
  return { events, comments, told, state, readyStates: [...readyStates, readyState] } as Observed
}

function optionsOf({ method, headers, body, lastEventId, baseMs, silenceMs }: ClientOptions): PlainOptions {
  return {
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers }),
    ...(body !== undefined && { body }),
    ...(lastEventId !== undefined && { resume: { lastEventId } }),
    ...(baseMs !== undefined && { backoff: { baseMs } }),
    ...(silenceMs !== undefined && { heartbeat: { timeoutMs: silenceMs } }),
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

const leftOut = new Set(LEFT_OUT.map(({ id }) => id))
const covered = cases.filter(({ id }) => !leftOut.has(id))
const titled = (some: Case[]) => some.map(one => [titleOf(one), one] as const)
/** Cases that measure time; megabytes that another case has the page parse meanwhile would be taken for delays. */
const measures = ({ client, expected }: Case) =>
  client?.silenceMs !== undefined || expected.dials.some(({ afterMs }) => afterMs !== undefined)

const differenceOf = new Map(differences.map(({ id, expected }) => [id, expected]))
const better = (one: Case): Expected => ({ ...one.expected, ...differenceOf.get(one.id) })
/** A difference in both modes: no header of ours carries a control character. */
const UNSENDABLE = 'standard-id-control'
const runWhatwg = (one: Case) =>
  runCase(one, one.id === UNSENDABLE ? better(one) : one.expected, { conformance: 'whatwg' })

describe("in Chromium, with conformance: 'whatwg'", () => {
  describe.concurrent('what comes', () => {
    test.each(titled(covered.filter(one => !measures(one))))('%s', (_title, one) => runWhatwg(one))
  })
  describe.concurrent('when it comes', () => {
    test.each(titled(covered.filter(measures)))('%s', (_title, one) => runWhatwg(one))
  })
  test('what is left out exists', () => {
    for (const { id } of LEFT_OUT) expect(cases.map(one => one.id)).toContain(id)
  })
})

describe.concurrent('in Chromium, by default, better than', () => {
  const rows = cases.filter(({ id }) => differenceOf.has(id))
  test.each(titled(rows))('%s', (_title, one) => runCase(one, better(one), {}))
})
