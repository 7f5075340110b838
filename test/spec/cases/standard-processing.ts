import { type Answer, type Case, event, type Piece } from './case.ts'

// HTML standard, 9.2.2 to 9.2.4 and 9.2.7: what surrounds the stream.

type Row = Omit<Case, 'suite'>

const AGAIN: Answer = { body: ['data: again\n\n'] }
/** `retry` is short, so that clients without an option for it are quick, too. */
const endsAfter = (text: string): Answer => ({ body: [`retry: 150\n${text}`], end: 'clean' })
const QUICK = { baseMs: 0 }

/** The connection is failed: once told, never tried again. */
function refused(id: string, name: string, answer: Answer): Row {
  return {
    id,
    name: `9.2.3 processing model: ${name}`,
    client: QUICK,
    // The second answer is for clients that ask again.
    answers: [answer, AGAIN],
    expected: { events: [], dials: [{}], state: 'failed', told: ['error: closed'], quietMs: 200 },
  }
}

function opens(id: string, name: string, answers: Answer[]): Row {
  return {
    id,
    name: `9.2.3 processing model: ${name}`,
    answers: [...answers.slice(0, -1), { ...answers.at(-1), body: ['data: x\n\n'] }],
    expected: {
      events: [event('x')],
      dials: answers.map(() => ({})),
      state: 'open',
      told: ['open', 'event'],
    },
  }
}

const redirect = (status: number): Answer => ({ status, headers: [['Location', '{here}']] })

/** The first connection is lost after an event; the second goes on. */
function reconnects(id: string, name: string, lost: Answer, client = QUICK): Row {
  return {
    id,
    name: `9.2.3 processing model: ${name}`,
    client,
    answers: [lost, AGAIN],
    expected: {
      events: [event('x', '1'), event('again', '1')],
      dials: [{}, { lastEventId: '1' }],
      state: 'open',
      told: ['open', 'event', 'error: connecting', 'open', 'event'],
    },
  }
}

const ONE: Piece[] = ['id: 1\ndata: x\n\n', { pauseMs: 50 }]

const rows: Row[] = [
  {
    id: 'close',
    name: '9.2.2 interface: close() ends the connection, and nothing is told after it',
    client: { closeAt: 1 },
    answers: [{ body: ['data: 1\n\ndata: 2\n\n', { pauseMs: 50 }, 'data: 3\n\n'] }],
    expected: { events: [event('1')], dials: [{}], state: 'closed', told: ['open', 'event'], quietMs: 200 },
  },
  {
    id: 'close-while-waiting',
    name: '9.2.2 interface: close() between two connections prevents the second',
    client: { closeAfterMs: 1_500 },
    answers: [{ body: ['retry: 2000\nid: 1\ndata: x\n\n'], end: 'clean' }, AGAIN],
    expected: {
      events: [event('x', '1')],
      dials: [{}],
      state: 'closed',
      told: ['open', 'event', 'error: connecting'],
      quietMs: 3_000,
    },
  },
  {
    id: 'request',
    name: '9.2.3 processing model: the request accepts an event stream, bypasses caches and has no id yet',
    answers: [{}],
    expected: {
      events: [],
      dials: [{ headers: { accept: 'text/event-stream', 'cache-control': 'no-cache' } }],
      state: 'open',
      told: ['open'],
    },
  },
  opens('type', 'a response of type text/event-stream opens the connection', [{}]),
  opens('type-parameters', 'parameters of the type are ignored, and so is its case', [
    { contentType: 'Text/Event-Stream; charset=utf-8; x=y' },
  ]),
  {
    id: 'open-early',
    name: '9.2.3 processing model: the connection is open at the headers, before there is any event',
    answers: [{ body: [{ pauseMs: 100 }, ':\n'] }],
    expected: { events: [], comments: [''], dials: [{}], state: 'open', told: ['open'] },
  },
  ...[301, 302, 303, 307, 308].map(status =>
    opens(`redirect-${status}`, `a redirect by ${status} is followed`, [redirect(status), {}]),
  ),
  opens('redirects', 'a chain of redirects is followed', [redirect(302), redirect(307), redirect(301), {}]),
  refused('type-html', 'another type fails the connection', {
    contentType: 'text/html',
    body: ['data: x\n\n'],
  }),
  refused('type-none', 'no type fails the connection', { contentType: null, body: ['data: x\n\n'] }),
  ...[201, 400, 401, 403, 500].map(status =>
    refused(`status-${status}`, `status ${status} fails the connection`, {
      status,
      contentType: 'text/event-stream',
      body: ['data: x\n\n'],
      end: 'clean',
    }),
  ),
  {
    id: 'no-content',
    name: '9.2.3 processing model: 204 in answer to a reconnect is the end',
    answers: [endsAfter('id: 1\ndata: x\n\n'), { status: 204 }],
    expected: {
      events: [event('x', '1')],
      dials: [{}, { lastEventId: '1' }],
      state: 'ended',
      told: ['open', 'event', 'error: connecting', 'error: closed'],
      quietMs: 200,
    },
  },
  {
    id: 'type-later',
    name: '9.2.3 processing model: another type in answer to a reconnect fails the connection',
    answers: [endsAfter('id: 1\ndata: x\n\n'), { contentType: 'text/html' }, AGAIN],
    expected: {
      events: [event('x', '1')],
      dials: [{}, { lastEventId: '1' }],
      state: 'failed',
      told: ['open', 'event', 'error: connecting', 'error: closed'],
      quietMs: 200,
    },
  },
  reconnects('end', 'the end of the body reestablishes the connection', endsAfter('id: 1\ndata: x\n\n')),
  reconnects('reset', 'a reset reestablishes the connection', { body: ONE, end: 'reset' }),
  reconnects('cut', 'a body that is cut off reestablishes the connection', { body: ONE, end: 'cut' }),
  {
    id: 'network-error',
    name: '9.2.3 processing model: a network error before any answer reestablishes the connection',
    client: QUICK,
    answers: [{ end: 'refuse' }, { body: ['data: x\n\n'] }],
    expected: {
      events: [event('x')],
      dials: [{}, {}],
      state: 'open',
      told: ['error: connecting', 'open', 'event'],
    },
  },
  {
    id: 'reconnection-time',
    name: '9.2.3 processing model: each reconnect waits for the reconnection time, which outlives its connection',
    answers: [
      { body: ['retry: 400\nid: 1\ndata: x\n\n'], end: 'clean' },
      { body: ['id: 2\ndata: y\n\n'], end: 'clean' },
      AGAIN,
    ],
    expected: {
      events: [event('x', '1'), event('y', '2'), event('again', '2')],
      // The standard allows for more than the reconnection time.
      dials: [
        {},
        { lastEventId: '1', afterMs: { least: 390, most: 15_000 } },
        { lastEventId: '2', afterMs: { least: 390, most: 15_000 } },
      ],
      state: 'open',
    },
  },
  {
    id: 'replay',
    name: '9.2.3 processing model: events that the server sends again are events',
    answers: [
      endsAfter('id: 1\ndata: x\n\nid: 2\ndata: y\n\n'),
      { body: ['id: 2\ndata: y\n\nid: 3\ndata: z\n\n'] },
    ],
    expected: {
      events: [event('x', '1'), event('y', '2'), event('y', '2'), event('z', '3')],
      dials: [{}, { lastEventId: '2' }],
      state: 'open',
    },
  },
  {
    id: 'id-utf-8',
    name: '9.2.4 Last-Event-ID: the header holds the id in UTF-8',
    answers: [endsAfter('id: grüße, 豆腐 \u{1d11e}\ndata: x\n\n'), AGAIN],
    expected: {
      events: [event('x', 'grüße, 豆腐 \u{1d11e}'), event('again', 'grüße, 豆腐 \u{1d11e}')],
      dials: [{}, { lastEventId: 'grüße, 豆腐 \u{1d11e}' }],
      state: 'open',
    },
  },
  {
    id: 'id-empty',
    name: '9.2.4 Last-Event-ID: there is no header after an empty id',
    answers: [
      { body: ['retry: 150\nid: 1\ndata: x\n\n', { pauseMs: 50 }, 'id\ndata: y\n\n'], end: 'clean' },
      AGAIN,
    ],
    expected: {
      events: [event('x', '1'), event('y'), event('again')],
      dials: [{}, {}],
      state: 'open',
    },
  },
  {
    id: 'id-survives',
    name: '9.2.4 Last-Event-ID: the id outlives a connection that brought nothing',
    answers: [endsAfter('id: 7\ndata: x\n\n'), { end: 'clean' }, AGAIN],
    expected: {
      events: [event('x', '7'), event('again', '7')],
      dials: [{}, { lastEventId: '7' }, { lastEventId: '7' }],
      state: 'open',
    },
  },
  {
    id: 'id-control',
    name: '9.2.4 Last-Event-ID: the header holds control characters as they are',
    answers: [endsAfter('id: 7\ndata: x\n\nid: a\u0001b\ndata: y\n\n'), AGAIN],
    expected: {
      events: [event('x', '7'), event('y', 'a\u0001b'), event('again', 'a\u0001b')],
      dials: [{}, { lastEventId: 'a\u0001b' }],
      state: 'open',
    },
  },
  {
    id: 'comments-keep-alive',
    name: '9.2.7 authoring notes: a comment every so often keeps the connection',
    client: { silenceMs: 1_000 },
    answers: [
      { body: [...Array.from({ length: 14 }, () => [':\n', { pauseMs: 150 }]).flat(), 'data: x\n\n'] },
    ],
    expected: {
      events: [event('x')],
      comments: Array.from({ length: 14 }, () => ''),
      dials: [{}],
      state: 'open',
      told: ['open', 'event'],
    },
  },
]

export const standardProcessing: Case[] = rows.map(row => ({
  ...row,
  id: `standard-${row.id}`,
  suite: 'standard',
}))
