import { type Case, type ExpectedEvent, event, stream } from './case.ts'

// HTML standard, 9.2.6: from lines to events.

const row = (id: string, clause: string, name: string, text: string, ...events: ExpectedEvent[]) =>
  stream('standard', id, `9.2.6 ${clause}: ${name}`, [text], events)

const interpreting = (id: string, name: string, text: string, ...events: ExpectedEvent[]) =>
  row(id, 'interpreting', name, text, ...events)

const dispatch = (id: string, name: string, text: string, ...events: ExpectedEvent[]) =>
  row(id, 'dispatching', name, text, ...events)

/** Two connections, of which the first ends after `first`. */
function acrossTheEnd(
  id: string,
  name: string,
  first: string,
  events: ExpectedEvent[],
  lastEventId: string | undefined,
  waitMs?: { least: number; most: number },
): Case {
  const again = { ...(lastEventId !== undefined && { lastEventId }), ...(waitMs && { afterMs: waitMs }) }
  return {
    id: `standard-${id}`,
    suite: 'standard',
    name: `9.2.6 ${name}`,
    answers: [{ body: [first], end: 'clean' }, { body: ['data: again\n\n'] }],
    expected: { events: [...events, event('again', lastEventId)], dials: [{}, again], state: 'open' },
  }
}

const AFTER_600_MS = { least: 590, most: 15_000 }

function comments(id: string, name: string, text: string, told: string[], ...events: ExpectedEvent[]): Case {
  const one = interpreting(id, name, text, ...events)
  return { ...one, expected: { ...one.expected, comments: told } }
}

export const standardInterpreting: Case[] = [
  interpreting('blank', 'a blank line tells the event', 'data: a\n\ndata: b\n\n', event('a'), event('b')),
  comments(
    'comment',
    'a line that starts with a colon is ignored',
    ':data: no\ndata: x\n: \n\n',
    ['data: no', ''],
    event('x'),
  ),
  comments(
    'comment-inside',
    'a comment does not end the block around it',
    'data: a\n:\ndata: b\n\n',
    [''],
    event('a\nb'),
  ),
  interpreting('first-colon', 'the field ends at the first colon', 'data:a:b: c\n\n', event('a:b: c')),
  interpreting(
    'one-space',
    'one space after the colon is taken off',
    'data: x\n\ndata:  x\n\n',
    event('x'),
    event(' x'),
  ),
  interpreting(
    'other-space',
    'no other white space is',
    'data:\tx\n\ndata:\u00a0x \n\n',
    event('\tx'),
    event('\u00a0x '),
  ),
  interpreting(
    'space-before-colon',
    'a space before the colon belongs to the name',
    'data : no\ndata: x\n\n',
    event('x'),
  ),
  interpreting('no-colon', 'a line without a colon is a field with an empty value', 'data\n\n', event('')),
  interpreting(
    'no-colon-name',
    'such a line is a field only as a whole',
    'data x\ndatax\ndata: y\n\n',
    event('y'),
  ),
  acrossTheEnd(
    'end-of-file',
    'interpreting: a block that the end of the stream cuts off is discarded',
    'retry: 150\nid: 1\ndata: x\n\nid: 2\ndata: y\n',
    [event('x', '1')],
    '1',
  ),
  acrossTheEnd(
    'end-of-line',
    'interpreting: a line that the end of the stream cuts off is discarded',
    'retry: 150\nid: 1\ndata: x\n\nid: 2',
    [event('x', '1')],
    '1',
  ),
  row('event', 'fields', 'event sets the type', 'event: add\ndata: x\n\n', event('x', '', 'add')),
  row(
    'event-last',
    'fields',
    'the last of several event fields counts',
    'event: a\nevent: b\ndata: x\n\n',
    event('x', '', 'b'),
  ),
  row(
    'event-emptied',
    'fields',
    'an empty event field takes an earlier one back',
    'event: a\nevent\ndata: x\n\n',
    event('x'),
  ),
  row(
    'data',
    'fields',
    'data lines are joined by line feeds',
    'data: a\ndata:\ndata: b\n\n',
    event('a\n\nb'),
  ),
  row('id', 'fields', 'id sets the last event ID', 'id: 1\ndata: x\n\n', event('x', '1')),
  row(
    'id-last',
    'fields',
    'the last of several id fields counts',
    'id: 1\nid: 2\ndata: x\n\n',
    event('x', '2'),
  ),
  row(
    'id-nul',
    'fields',
    'an id with a NUL leaves the one before it',
    'id: 1\nid: 2\0\ndata: x\n\n',
    event('x', '1'),
  ),
  row(
    'id-spaces',
    'fields',
    'an id keeps its spaces but the first',
    'id:  a b \ndata: x\n\n',
    event('x', ' a b '),
  ),
  acrossTheEnd(
    'retry',
    'fields: retry sets the reconnection time',
    'id: 1\nretry: 600\ndata: x\n\n',
    [event('x', '1')],
    '1',
    AFTER_600_MS,
  ),
  acrossTheEnd(
    'retry-zeros',
    'fields: retry is decimal, also with zeros in front',
    'id: 1\nretry: 000600\ndata: x\n\n',
    [event('x', '1')],
    '1',
    AFTER_600_MS,
  ),
  acrossTheEnd(
    'retry-alone',
    'fields: retry needs neither data nor a blank line',
    'id: 1\ndata: x\n\nretry: 600\n',
    [event('x', '1')],
    '1',
    AFTER_600_MS,
  ),
  acrossTheEnd(
    'retry-ignored',
    'fields: retry with anything but digits is ignored',
    `id: 1\nretry: 600\n${['', '90000x', '-90000', '+90000', '9e4', '90000.0', '90 000', ' 90000', '٣٠٠٠٠'].map(value => `retry: ${value}\n`).join('')}data: x\n\n`,
    [event('x', '1')],
    '1',
    AFTER_600_MS,
  ),
  row('unknown', 'fields', 'any other field is ignored', 'foo: bar\ndata: x\nbaz\n\n', event('x')),
  row(
    'case',
    'fields',
    'names are compared with their case',
    'Data: no\nDATA: no\nID: 1\nEvent: no\ndata: x\n\n',
    event('x'),
  ),
  dispatch(
    'id-alone',
    'a block of an id alone sets the last event ID',
    'id: 1\n\ndata: x\n\n',
    event('x', '1'),
  ),
  acrossTheEnd(
    'id-alone-resumes',
    'dispatching: and the next connection starts after it',
    'retry: 150\nid: 1\n\n',
    [],
    '1',
  ),
  dispatch(
    'id-inherited',
    'an id holds for the events after it',
    'id: 1\ndata: x\n\ndata: y\n\n',
    event('x', '1'),
    event('y', '1'),
  ),
  dispatch(
    'no-data',
    'a block without data tells nothing, and its type is forgotten',
    'event: a\n\ndata: x\n\n',
    event('x'),
  ),
  dispatch(
    'no-data-id',
    'a block without data keeps its id',
    'event: a\nid: 1\n\ndata: x\n\n',
    event('x', '1'),
  ),
  dispatch(
    'empty-data',
    'a block with empty data is an event',
    'data\n\ndata:\n\ndata: \n\n',
    event(''),
    event(''),
    event(''),
  ),
  dispatch(
    'one-line-feed',
    'only the last line feed is taken off',
    'data: x\ndata\ndata\n\n',
    event('x\n\n'),
  ),
  dispatch(
    'buffers',
    'data and type do not last',
    'event: a\ndata: x\n\ndata: y\n\n',
    event('x', '', 'a'),
    event('y'),
  ),
  dispatch(
    'type-error',
    'an event may be called error, open or message',
    'event: error\ndata: a\n\nevent: open\ndata: b\n\nevent: message\ndata: c\n\n',
    event('a', '', 'error'),
    event('b', '', 'open'),
    event('c'),
  ),
  interpreting(
    'example-stocks',
    'the example of three data lines',
    'data: YHOO\ndata: +2\ndata: 10\n\n',
    event('YHOO\n+2\n10'),
  ),
  comments(
    'example-four-blocks',
    'the example of four blocks',
    ': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n',
    ['test stream'],
    event('first event', '1'),
    event('second event'),
    event(' third event'),
  ),
  interpreting(
    'example-empty',
    'the example whose last block has no blank line',
    'data\n\ndata\ndata\n\ndata:',
    event(''),
    event('\n'),
  ),
  interpreting(
    'example-space',
    'the example of two equal events',
    'data:test\n\ndata: test\n\n',
    event('test'),
    event('test'),
  ),
]
