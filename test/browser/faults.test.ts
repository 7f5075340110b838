import { readFileSync } from 'node:fs'
import type { BrowserContext } from 'playwright-core'
import type { ResilientSseOptions } from 'resilient-sse'
import { answer, eventLog, FaultServer, rest, retry, type Step, stay } from 'resilient-sse/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RECOVERABLE, type Recoverable } from '../faults/matrix-cases.ts'
import { FAST, positions, QUICK_RETRY } from '../faults/support.ts'
import type { PlainOptions, Seen } from './in-page.ts'
import { clientScript, openBrowser, PAGE, PLACES, Place, type Stream } from './places.ts'

const COUNT = 60
const log = eventLog({ count: COUNT, ids: 'opaque', bytes: [20, 2_000], seed: 67 })

const positionOf = new Map(Array.from({ length: COUNT }, (_, index) => [log.at(index).data, index]))

const OURS_PATIENCE_MS = 20_000
/** How long the native one is waited for after ours has everything: where it did not read `retry`, it waits 3 s each time. */
const NATIVE_PATIENCE_MS = 14_000

/** Faults that cannot be had in a page of the same origin. */
const LEFT_OUT = new Set(['a redirect to another origin'])

const faults = RECOVERABLE.filter(({ name, tls }) => !tls && !LEFT_OUT.has(name))

let context: BrowserContext
beforeAll(async () => {
  context = await openBrowser()
})
afterAll(async () => {
  await context.close()
  console.log(table())
})

interface Outcome {
  lost: number
  doubled: number
  /** Still open or connecting, with events missing, when the time was up. */
  hung: number
}
const CLEAN: Outcome = { lost: 0, doubled: 0, hung: 0 }

/** What docs/eventsource.md says of the browser's own, by fault. */
const claims = new Map(
  readFileSync(new URL('../../docs/eventsource.md', import.meta.url), 'utf8')
    .split('## In browsers')[1]
    ?.split('\n### ')[0]
    ?.split('\n')
    .filter(line => line.startsWith('| '))
    .map(line => line.split('|').map(cell => cell.trim()))
    .map(([, fault = '', claim = '']) => [fault, claim] as const),
)
const outcomes = new Map<string, { native: Outcome; ours: Outcome }>()

describe.concurrent.each(PLACES)('in a %s', kind => {
  test.each(faults)('$name: nothing lost, nothing doubled, nothing hung', async fault => {
    await using server = await startServer(fault)
    await using place = await Place.open(context, kind, {
      pageUrl: server.urlOf('/page'),
      scriptUrl: server.urlOf('/client.js'),
    })
    const native = await place.start({ kind: 'native', url: '/native' })
    const ours = await place.start({ kind: 'ours', url: '/ours', init: plainOptions(fault.options) })
    const outcome = {
      ours: await outcomeOf(ours, performance.now() + OURS_PATIENCE_MS),
      native: await outcomeOf(native, performance.now() + NATIVE_PATIENCE_MS),
    }
    outcomes.set(`${fault.name} ${kind}`, outcome)
    expect(outcome.ours).toEqual(CLEAN)
    expect(positionsOf((await ours.look()).events), 'in order').toEqual(
      Array.from({ length: COUNT }, (_, index) => index),
    )
    const claim = claims.get(fault.name)
    if (claim !== undefined) expect(inWords(outcome.native)).toBe(claim)
  })
})

test('docs/eventsource.md claims something of thirteen faults, all of them known', () => {
  expect([...claims.keys()].filter(name => faults.some(fault => fault.name === name))).toHaveLength(13)
})

function inWords({ lost, doubled, hung }: Outcome): string {
  if (hung > 0) return 'hangs'
  if (lost > 0) return 'stops for good'
  return doubled > 0 ? 'doubles' : 'survives'
}

/** The same script for both, each on a path of its own, from the origin of the page. */
async function startServer(fault: Recoverable): Promise<FaultServer> {
  return FaultServer.start({
    log,
    routes: {
      '/page': [[answer(200, { headers: { 'content-type': 'text/html' }, body: PAGE })]],
      '/client.js': [
        [answer(200, { headers: { 'content-type': 'text/javascript' }, body: await clientScript() })],
      ],
      '/ours': scriptOf(fault, '/ours'),
      '/native': scriptOf(fault, '/native'),
    },
  })
}

/** Two outages at seeded positions, then everything that is left. */
function scriptOf({ name, legs, replays }: Recoverable, url: string): Step[][] {
  const script: Step[][] = []
  let sent = 0
  for (const position of positions(name, 2, COUNT - 5)) {
    const replayed = sent > 0 ? (replays?.again(sent) ?? 0) : 0
    for (const [index, leg] of legs(position - sent, { url, elsewhere: url, replayed }).entries()) {
      script.push(index === 0 && sent > 0 ? [...(replays?.words ?? []), ...leg.script] : leg.script)
      sent += leg.brings
    }
  }
  script.push([...(replays?.words ?? []), rest(), stay()])
  // Chromium waits three seconds before it dials again, unless it is told otherwise.
  const [first = [], ...others] = script
  const quick = first.flatMap((step): Step[] => (step.do === 'send' ? [retry(QUICK_RETRY), step] : [step]))
  return [quick, ...others]
}

function plainOptions({ headers, ...options }: ResilientSseOptions = {}): PlainOptions {
  return {
    ...(FAST as object),
    // Chromium throws away what a page has not read yet of a body that breaks: a connection that sent events before it
    // was reset may have brought nothing, and six such failures in a row are nothing special here.
    breaker: { threshold: 20 },
    ...(options as object),
    ...(headers === undefined ? {} : { freshHeaders: { authorization: 'Bearer fresh' } }),
  }
}

async function outcomeOf(stream: Stream, deadline: number): Promise<Outcome> {
  for (;;) {
    const { events, readyState } = await stream.look()
    const counts = new Array<number>(COUNT).fill(0)
    for (const position of positionsOf(events)) counts[position] = (counts[position] ?? 0) + 1
    const lost = counts.filter(count => count === 0).length
    const doubled = counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0)
    const over = performance.now() >= deadline
    if (lost === 0 || readyState === 2 || over) {
      await stream.close()
      return { lost, doubled, hung: lost > 0 && readyState !== 2 ? 1 : 0 }
    }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

/** Where in the log the events stand that came; those of its own that a fault sends are left out. */
function positionsOf(events: Seen['events']): number[] {
  return events.map(({ data }) => positionOf.get(data)).filter(position => position !== undefined)
}

/** lost/doubled/hung of both, in each place. */
function table(): string {
  const cells = (name: string) =>
    PLACES.map(kind => {
      const outcome = outcomes.get(`${name} ${kind}`)
      const shown = (one: Outcome | undefined) => (one ? `${one.lost}/${one.doubled}/${one.hung}` : '-')
      return `${shown(outcome?.native)} ${shown(outcome?.ours)}`
    })
  const head = ['lost/doubled/hung', ...PLACES.map(kind => `native and ours in a ${kind}`)]
  return [head, ...faults.map(({ name }) => [name, ...cells(name)])].map(row => row.join(' | ')).join('\n')
}
