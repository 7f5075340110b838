import type { BrowserContext } from 'playwright-core'
import { answer, FaultServer, rest, type Step, send, silence } from 'resilient-sse/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlainOptions } from './in-page.ts'
import { clientScript, openBrowser, PAGE, Place, type PlaceKind, type Stream, until } from './places.ts'

let context: BrowserContext
beforeAll(async () => {
  context = await openBrowser()
})
afterAll(() => context.close())

/** Without a hint, silence is judged after two minutes. */
const PATIENT: PlainOptions = { heartbeat: { timeoutMs: 120_000 } }
/** A network that is down for three dials costs more time than a test waits. */
const SLOW: PlainOptions = { backoff: { baseMs: 200, factor: 10, maxMs: 60_000, jitter: 0 } }

const SILENT: Step[][] = [[send(10), silence()]]

/** A stream that has received the first ten events of the log. */
async function withStream(
  kind: PlaceKind,
  init: PlainOptions,
  use: (world: { stream: Stream; place: Place; server: FaultServer }) => Promise<void>,
  script: Step[][] = SILENT,
): Promise<void> {
  await using server = await FaultServer.start({
    log: { count: 20 },
    routes: {
      '/page': [[answer(200, { headers: { 'content-type': 'text/html' }, body: PAGE })]],
      '/client.js': [
        [answer(200, { headers: { 'content-type': 'text/javascript' }, body: await clientScript() })],
      ],
      '/events': [...script, [rest(), { do: 'stay' }]],
    },
  })
  await using place = await Place.open(context, kind, {
    pageUrl: server.urlOf('/page'),
    scriptUrl: server.urlOf('/client.js'),
  })
  const stream = await place.start({ kind: 'ours', url: '/events', init })
  await until(async () => (await stream.look()).events.length === 10, 'the first ten events')
  await use({ stream, place, server })
}

const stalls = async (stream: Stream) =>
  (await stream.look()).lifecycle.filter(told => told.startsWith('stall'))

/** Looked at once more after a while: a hint that does not come cannot be waited for. */
async function expectNoHint(stream: Stream): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, 1_500))
  expect(await stalls(stream)).toEqual([])
}

/** A hint shortens patience to five seconds; then the connection is given up and everything comes on the next one. */
async function expectHintAndRecovery(stream: Stream): Promise<void> {
  await until(async () => (await stalls(stream)).includes('stall: hint'), 'the hint')
  await until(async () => (await stream.look()).events.length === 20, 'everything')
  expect(await stalls(stream)).toEqual(['stall: hint', 'stall: dead'])
}

describe.concurrent('a silent connection', () => {
  // A window without a screen cannot be hidden, and Chromium freezes hidden pages only: these events are the test's own.
  test('is doubted when a page that was frozen resumes', () =>
    withStream('page', PATIENT, async ({ stream, place }) => {
      await place.page.evaluate(() => document.dispatchEvent(new Event('resume')))
      await expectHintAndRecovery(stream)
    }))

  test('is doubted when a page comes back from the back/forward cache', () =>
    withStream('page', PATIENT, async ({ stream, place }) => {
      await place.page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
      await expectHintAndRecovery(stream)
    }))

  test('is not doubted when a page is shown for the first time', () =>
    withStream('page', PATIENT, async ({ stream, place }) => {
      await place.page.evaluate(() =>
        dispatchEvent(new PageTransitionEvent('pageshow', { persisted: false })),
      )
      await expectNoHint(stream)
    }))

  test('is not doubted when its tab is hidden and shown again', () =>
    withStream('page', PATIENT, async ({ stream, place }) => {
      await place.page.evaluate(() => {
        for (const state of ['hidden', 'visible']) {
          Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
          document.dispatchEvent(new Event('visibilitychange'))
        }
      })
      await expectNoHint(stream)
    }))

  // The page alone is told by the driver that the network is back.
  test.each(['worker', 'service worker'] as const)('in a %s is doubted when the network is back', kind =>
    withStream(kind, PATIENT, async ({ stream, place }) => {
      await place.dispatch('online')
      await expectHintAndRecovery(stream)
    }),
  )
})

// Of the whole browser at once, therefore one after the other.
describe('when the network of the browser is back', () => {
  test('a silent connection of a page is doubted', () =>
    withStream('page', PATIENT, async ({ stream }) => {
      await context.setOffline(true)
      await context.setOffline(false)
      await expectHintAndRecovery(stream)
    }))

  test('a page that waits for its next dial dials soon', () =>
    withStream(
      'page',
      SLOW,
      async ({ stream, server }) => {
        const dials = () => server.requests.filter(({ url }) => url === '/events').length
        await context.setOffline(true)
        // The first retry comes after 0.2 s, the second after 2 s more, the third would after another 20 s.
        await until(
          async () => (await stream.look()).lifecycle.filter(told => told === 'dial').length === 3,
          'the third dial',
        )
        expect(dials()).toBe(1)
        await context.setOffline(false)
        await until(async () => (await stream.look()).events.length === 20, 'everything')
        expect(dials()).toBe(2)
      },
      [[send(10), { do: 'wait', ms: 500 }, { do: 'cut' }]],
    ))
})
