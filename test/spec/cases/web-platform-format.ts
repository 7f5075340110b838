import { type Case, type ExpectedDial, type ExpectedEvent, event, type Piece, stream } from './case.ts'

// Web Platform Tests, eventsource/format-*: the ids are the names of their files.

const BOM = '\ufeff'
const LONG = 'x'.repeat(2_048)

const format = (id: string, name: string, text: string, ...events: ExpectedEvent[]) =>
  stream('web-platform', id, name, [text], events)

/** A stream that ends after `first`; the next connection brings `second` and stays. */
function twice(
  id: string,
  name: string,
  first: Piece[],
  second: Piece[],
  events: ExpectedEvent[],
  secondDial: ExpectedDial = {},
): Case {
  return {
    id: `web-platform-${id}`,
    suite: 'web-platform',
    name,
    answers: [{ body: first, end: 'clean' }, { body: second }],
    expected: { events, dials: [{}, secondDial], state: 'open' },
  }
}

function withType(id: string, name: string, contentType: string, opens: boolean): Case {
  return {
    id: `web-platform-${id}`,
    suite: 'web-platform',
    name,
    answers: [{ contentType, body: ['data: ok\n\n'] }],
    expected: {
      events: opens ? [event('ok')] : [],
      dials: [{}],
      state: opens ? 'open' : 'failed',
      told: opens ? ['open', 'event'] : ['error: closed'],
    },
  }
}

const hello = (id: string) => `id: ${id}\nretry: 200\ndata: hello\n\n`
const ECHO = 'data: …\n\n'

/** Neither 1,536 ms, which 03000 is in octal, nor 1,000. The standard lets a client wait longer. */
const AFTER_3_S: ExpectedDial = { afterMs: { least: 2_700, most: 15_000 } }

const NUL_IDS = {
  'nul-nul': '\0\0',
  'x-nul': 'x\0',
  'nul-x': '\0x',
  'x-nul-x': 'x\0x',
  'space-nul': ' \0',
}

export const webPlatformFormat: Case[] = [
  format(
    'event-data',
    'data of two lines, false fields, a field in capitals, data without a colon',
    'data:msg\ndata: msg\n\n:\nfalsefield:msg\n\nfalsefield:msg\nData:data\n\ndata\n\ndata:end\n\n',
    event('msg\nmsg'),
    event(''),
    event('end'),
  ),
  format(
    'format-bom',
    'the second of two events that begin with a BOM is lost',
    `${BOM}data:1\n\n${BOM}data:2\n\ndata:3\n\n`,
    event('1'),
    event('3'),
  ),
  format(
    'format-bom-2',
    'of two BOMs at the start one is stripped, the other spoils the field',
    `${BOM}${BOM}data:1\n\ndata:2\n\ndata:3\n\n`,
    event('2'),
    event('3'),
  ),
  format(
    'format-comments',
    'comments of every length and line end between data lines',
    `data:1\r:\0\n:\r\ndata:2\n:${LONG}\rdata:3\n:data:fail\r:${LONG}\ndata:4\n\n`,
    event('1\n2\n3\n4'),
  ),
  twice(
    'format-data-before-final-empty-line',
    'a stream that ends before the blank line loses that event and its id',
    ['retry:1000\ndata:test1\n\nid:test\ndata:test2\n'],
    ['data:test3\n\n'],
    [event('test1'), event('test3')],
  ),
  format(
    'format-field-data',
    'data with a colon only, and without one',
    'data:\n\ndata\ndata\n\ndata:test\n\n',
    event(''),
    event('\n'),
    event('test'),
  ),
  format(
    'format-field-event',
    'an event type holds for one event',
    'event:test\ndata:x\n\ndata:x\n\n',
    event('x', '', 'test'),
    event('x'),
  ),
  format(
    'format-field-event-empty',
    'an empty event type is message',
    'event: \ndata:data\n\n',
    event('data'),
  ),
  twice(
    'format-field-id',
    'an id beyond Latin-1 comes back as UTF-8',
    [hello('…')],
    [ECHO],
    [event('hello', '…'), event('…', '…')],
    { lastEventId: '…' },
  ),
  {
    id: 'web-platform-format-field-id-2',
    suite: 'web-platform',
    name: 'an id is sent by each reconnect until there is another',
    answers: [{ body: [hello('…')], end: 'clean' }, { body: [ECHO], end: 'clean' }, { body: [ECHO] }],
    expected: {
      events: [event('hello', '…'), event('…', '…'), event('…', '…')],
      dials: [{}, { lastEventId: '…' }, { lastEventId: '…' }],
      state: 'open',
    },
  },
  format(
    'format-field-id-3-persists',
    'an id persists until it changes, and then the new one does',
    'id: 1\ndata: 1\n\ndata: 2\n\nid: 2\ndata:3\n\ndata:4\n\n',
    event('1', '1'),
    event('2', '1'),
    event('3', '2'),
    event('4', '2'),
  ),
  format(
    'format-field-id-3-resets-with-colon',
    'id: without a value resets the id',
    'id: 1\ndata: 1\n\nid:\ndata:2\n\ndata:3\n\n',
    event('1', '1'),
    event('2'),
    event('3'),
  ),
  format(
    'format-field-id-3-resets-without-colon',
    'id without a colon resets the id',
    'id: 1\ndata: 1\n\nid\ndata:2\n\ndata:3\n\n',
    event('1', '1'),
    event('2'),
    event('3'),
  ),
  ...Object.entries(NUL_IDS).map(([variant, id]) =>
    twice(
      `format-field-id-null-${variant}`,
      `an id with a NUL is ignored: ${variant}`,
      [hello(id)],
      ['data: hello again\n\n'],
      [event('hello'), event('hello again')],
    ),
  ),
  format(
    'format-field-parsing',
    'names that are nearly data are unknown fields',
    'data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n',
    event('\0\n 2\n1\n3\n\n4'),
  ),
  twice(
    'format-field-retry',
    'retry with a leading zero is decimal',
    ['retry:03000\ndata:x\n\n'],
    ['data:y\n\n'],
    [event('x'), event('y')],
    AFTER_3_S,
  ),
  twice(
    'format-field-retry-bogus',
    'retry with a letter in it is ignored',
    ['retry:3000\nretry:1000x\ndata:x\n\n'],
    ['data:y\n\n'],
    [event('x'), event('y')],
    AFTER_3_S,
  ),
  format(
    'format-field-retry-empty',
    'retry without a value is ignored',
    'retry\ndata:test\n\n',
    event('test'),
  ),
  format(
    'format-field-unknown',
    'unknown fields between data lines are ignored',
    'data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n',
    event('test\n\ntest'),
  ),
  format(
    'format-leading-space',
    'one space after the colon is taken off, a tab is not',
    'data:\ttest\rdata: \ndata:test\n\n',
    event('\ttest\n\ntest'),
  ),
  withType('format-mime-bogus', 'a content type that is none is refused', 'x bogus', false),
  withType(
    'format-mime-trailing-semicolon',
    'a semicolon after the type is harmless',
    'text/event-stream;',
    true,
  ),
  withType('format-mime-valid-bogus', 'another valid type is refused', 'text/x-bogus', false),
  format(
    'format-newlines',
    'all three line ends in one event',
    'data:test\r\ndata\ndata:test\r\n\r\n',
    event('test\n\ntest'),
  ),
  format('format-null-character', 'a NUL is data', 'data:\0\n\n\n\n', event('\0')),
  {
    ...format(
      'format-utf-8',
      'a stream is UTF-8, whatever charset its type names',
      'data:ok…\n\n',
      event('ok…'),
    ),
    answers: [{ contentType: 'text/event-stream;charset=windows-1252', body: ['data:ok…\n\n'] }],
  },
]
