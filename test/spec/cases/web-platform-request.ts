import { type Case, event, type Told } from './case.ts'

// Web Platform Tests, eventsource/request-* and eventsource-*: the ids are the names of their files.

type Row = Omit<Case, 'suite'>

const HTTP_ERRORS = [205, 210, 299, 404, 410, 503]
const REDIRECTS = [301, 302, 303, 307]
const RECONNECTED: Told[] = ['open', 'event', 'error: connecting', 'open', 'event']

const rows: Row[] = [
  {
    id: 'request-accept',
    name: 'the request accepts an event stream',
    answers: [{}],
    expected: { events: [], dials: [{ headers: { accept: 'text/event-stream' } }], state: 'open' },
  },
  {
    id: 'request-cache-control',
    name: 'the request wants no answer from a cache',
    answers: [{}],
    expected: { events: [], dials: [{ headers: { 'cache-control': 'no-cache' } }], state: 'open' },
  },
  ...REDIRECTS.map(
    (status): Row => ({
      id: `request-redirect-${status}`,
      name: `a redirect by ${status} is followed`,
      answers: [{ status, headers: [['Location', '{origin}{here}']] }, {}],
      expected: { events: [], dials: [{}, {}], state: 'open', told: ['open'] },
    }),
  ),
  {
    id: 'request-status-error-204',
    name: 'status 204 closes the source',
    answers: [{ status: 204 }],
    expected: {
      events: [],
      dials: [{}],
      state: 'ended',
      told: ['error: closed'],
      quietMs: 200,
    },
  },
  ...HTTP_ERRORS.map(
    (status): Row => ({
      id: `request-status-error-${status}`,
      name: `status ${status} closes the source`,
      client: { baseMs: 0 },
      // The second answer is for clients that ask again.
      answers: [{ status }, { body: ['data: back\n\n'] }],
      expected: {
        events: [],
        dials: [{}],
        state: 'failed',
        told: ['error: closed'],
        quietMs: 200,
      },
    }),
  ),
  {
    id: 'eventsource-close',
    name: 'a source that is closed when it opens tells nothing more',
    client: { closeAt: 'open' },
    answers: [{ body: ['data: late\n\n'] }],
    expected: { events: [], dials: [{}], state: 'closed', told: ['open'], quietMs: 200 },
  },
  {
    id: 'eventsource-close-states',
    name: 'a source is connecting, open and closed in turn',
    only: 'eventsource',
    client: { closeAt: 'open' },
    answers: [{}],
    expected: {
      events: [],
      dials: [{}],
      state: 'closed',
      told: ['open'],
      readyStates: [0, 1, 2],
    },
  },
  {
    id: 'eventsource-close-events',
    name: 'a source reconnects until 204 closes it, and tells an error each time',
    answers: [
      { body: ['retry: 150\nid: 1\ndata: opened\n\n'], end: 'clean' },
      { body: ['id: 2\ndata: reconnected\n\n'], end: 'clean' },
      { status: 204 },
    ],
    expected: {
      events: [event('opened', '1'), event('reconnected', '2')],
      dials: [{}, { lastEventId: '1' }, { lastEventId: '2' }],
      state: 'ended',
      told: [...RECONNECTED, 'error: connecting', 'error: closed'],
      quietMs: 200,
    },
  },
  {
    id: 'eventsource-reconnect',
    name: 'a stream that ends without an event is asked for again',
    answers: [{ body: ['retry: 150\n\n'], end: 'clean' }, { body: ['data: data\n\n'] }],
    expected: { events: [event('data')], dials: [{}, {}], state: 'open' },
  },
  {
    id: 'eventsource-reconnect-events',
    name: 'between two connections a source tells an error and is connecting',
    answers: [{ body: ['retry: 150\nid: 2\ndata: ok\n\n'], end: 'clean' }, { body: ['data: data\n\n'] }],
    expected: {
      events: [event('ok', '2'), event('data', '2')],
      dials: [{}, { lastEventId: '2' }],
      state: 'open',
      told: RECONNECTED,
    },
  },
  {
    id: 'eventsource-request-cancellation',
    name: 'a request that is given up before its answer tells nothing',
    client: { closeAfterMs: 1_500 },
    answers: [{ delayMs: 3_000, body: ['retry:1000\ndata:abc\n\n'] }],
    expected: { events: [], dials: [{}], state: 'closed', told: [], quietMs: 1_800 },
  },
]

export const webPlatformRequest: Case[] = rows.map(row => ({
  ...row,
  id: `web-platform-${row.id}`,
  suite: 'web-platform',
}))
