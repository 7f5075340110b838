import { type Answer, type Case, event } from './case.ts'

// The contract suite of the LaunchDarkly SSE clients: HTTP behaviour, and reconnection.

type Row = Omit<Case, 'suite'>

const JSON_BODY = '{"hello": "world"}'
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' }

function withBody(method: string): Row {
  return {
    id: `http-${method.toLowerCase()}`,
    name: `${method} with a body`,
    client: { method, headers: JSON_HEADERS, body: JSON_BODY },
    answers: [{}],
    expected: {
      events: [],
      dials: [{ method, headers: JSON_HEADERS, body: JSON_BODY }],
      state: 'open',
      told: ['open'],
    },
  }
}

function redirect(status: number): Row {
  return {
    id: `http-${status}`,
    name: `${status} is followed`,
    answers: [{ status, headers: [['Location', '{here}']] }, { body: ['data: hello\n\n'] }],
    expected: { events: [event('hello')], dials: [{}, {}], state: 'open', told: ['open', 'event'] },
  }
}

function badRedirect(status: number, location: 'empty' | 'missing'): Row {
  return {
    id: `http-${status}-${location}-location`,
    name: `${status} with ${location === 'empty' ? 'an empty' : 'no'} Location is an error`,
    answers: [{ status, headers: location === 'empty' ? [['Location', '']] : [] }],
    expected: { events: [], dials: [{}], state: 'failed', told: ['error: closed'], quietMs: 200 },
  }
}

const http: Row[] = [
  {
    id: 'http-defaults',
    name: 'the method by default is GET, and the headers ask for an event stream that no cache has',
    answers: [{}],
    expected: {
      events: [],
      dials: [{ headers: { accept: 'text/event-stream', 'cache-control': 'no-cache' } }],
      state: 'open',
    },
  },
  {
    id: 'http-204',
    name: '204 is the end of all attempts',
    answers: [{ status: 204 }],
    expected: { events: [], dials: [{}], state: 'ended', told: ['error: closed'], quietMs: 1_000 },
  },
  redirect(301),
  redirect(307),
  badRedirect(301, 'empty'),
  badRedirect(301, 'missing'),
  badRedirect(307, 'empty'),
  badRedirect(307, 'missing'),
  {
    id: 'http-headers',
    name: 'headers of the caller are sent',
    client: { headers: { 'header-name-1': 'value-1', 'header-name-2': 'value-2' } },
    answers: [{}],
    expected: {
      events: [],
      dials: [{ headers: { 'header-name-1': 'value-1', 'header-name-2': 'value-2' } }],
      state: 'open',
    },
  },
  withBody('POST'),
  withBody('REPORT'),
  {
    id: 'http-last-event-id',
    name: 'the first request carries the id that the caller starts after',
    client: { lastEventId: 'abc' },
    answers: [{}],
    expected: { events: [], dials: [{ lastEventId: 'abc' }], state: 'open' },
  },
]

const THANKS: Answer = { body: ['data: Thanks\n\n'] }
const HELLO_ABC: Answer = { body: ['id: abc\ndata: Hello\n\n'], end: 'clean' }
const QUICK = { baseMs: 0 }

const reconnection: Row[] = [
  {
    id: 'reconnection-restart',
    name: 'the caller can ask for a new connection',
    client: { ...QUICK, reconnectAfter: 1 },
    answers: [{ body: ['data: Hello\n\n'] }, THANKS],
    expected: { events: [event('Hello'), event('Thanks')], dials: [{}, {}], state: 'open' },
  },
  {
    id: 'reconnection-id',
    name: 'a reconnect carries the id of the last event',
    client: QUICK,
    answers: [HELLO_ABC, THANKS],
    expected: {
      events: [event('Hello', 'abc'), event('Thanks', 'abc')],
      dials: [{}, { lastEventId: 'abc' }],
      state: 'open',
      told: ['open', 'event', 'error: connecting', 'open', 'event'],
    },
  },
  {
    id: 'reconnection-older-id',
    name: 'a reconnect carries the last id although later events had none',
    client: QUICK,
    answers: [{ body: ['id: abc\ndata: Hello\n\n', 'data: World\n\n'], end: 'clean' }, THANKS],
    expected: {
      events: [event('Hello', 'abc'), event('World', 'abc'), event('Thanks', 'abc')],
      dials: [{}, { lastEventId: 'abc' }],
      state: 'open',
    },
  },
  {
    id: 'reconnection-emptied-id',
    name: 'a reconnect after an empty id carries none',
    client: QUICK,
    answers: [
      { body: ['id: abc\ndata: Hello\n\n', { pauseMs: 50 }, 'id:\ndata: World\n\n'], end: 'clean' },
      THANKS,
    ],
    expected: {
      events: [event('Hello', 'abc'), event('World'), event('Thanks')],
      dials: [{}, {}],
      state: 'open',
    },
  },
  {
    id: 'reconnection-body',
    name: 'a reconnect sends the request body again',
    client: { ...QUICK, method: 'POST', headers: JSON_HEADERS, body: JSON_BODY },
    answers: [{ end: 'clean' }, THANKS],
    expected: {
      events: [event('Thanks')],
      dials: [
        { method: 'POST', headers: JSON_HEADERS, body: JSON_BODY },
        { method: 'POST', headers: JSON_HEADERS, body: JSON_BODY },
      ],
      state: 'open',
    },
  },
  {
    id: 'reconnection-silence',
    name: 'silence beyond the limit of the caller leads to a new connection',
    client: { ...QUICK, silenceMs: 500 },
    answers: [{ body: ['data: Hello\n\n'] }, { body: ['data: Thanks\n\n', ...heartbeats()] }],
    expected: {
      events: [event('Hello'), event('Thanks')],
      dials: [{}, { afterMs: { least: 450, most: 15_000 } }],
      state: 'open',
      told: ['open', 'event', 'error: connecting', 'open', 'event'],
    },
  },
  {
    id: 'reconnection-partial',
    name: 'a message that was cut off is not mixed with those of the next connection',
    client: QUICK,
    answers: [{ body: ['data: Hello\n\ndata: Good', 'b'], end: 'cut' }, THANKS],
    expected: { events: [event('Hello'), event('Thanks')], dials: [{}, {}], state: 'open' },
  },
  {
    id: 'reconnection-works',
    name: 'the connection after a broken one works like the first',
    client: QUICK,
    answers: [
      { body: ['data: Hello\n\n', { pauseMs: 50 }], end: 'reset' },
      { body: ['data: Thanks\n\n', 'event: greeting\ndata: again\n\n'] },
    ],
    expected: {
      events: [event('Hello'), event('Thanks'), event('again', '', 'greeting')],
      dials: [{}, {}],
      state: 'open',
    },
  },
]

/** Enough signs of life to keep the second connection while the test looks at it. */
function heartbeats() {
  return Array.from({ length: 40 }, () => [{ pauseMs: 100 }, ':\n']).flat()
}

const inSuite = (row: Row): Case => ({ ...row, id: `contract-${row.id}`, suite: 'contract' })

export const contractHttp = http.map(inSuite)
export const contractReconnection = reconnection.map(inSuite)
