import { type Case, event, inChunks, stream } from './case.ts'

// The contract suite of the LaunchDarkly SSE clients: line ends. Three kinds of them, six streams, three ways to cut.

const LINE_ENDS = { lf: '\n', crlf: '\r\n', cr: '\r' }

/** In the lines "" stands for the blank one. */
const STREAMS = [
  { id: 'one-line', name: 'a one-line event', lines: ['data: event 1', ''], data: ['event 1'] },
  {
    id: 'two-events',
    name: 'a one-line event and a two-line event',
    lines: ['data: event 1', '', 'data: event 2 line 1', 'data: event 2 line 2', ''],
    data: ['event 1', 'event 2 line 1\nevent 2 line 2'],
  },
  {
    id: 'empty-first-line',
    name: 'an event of three lines, the first empty',
    lines: ['data:', 'data: line2', 'data: line3', ''],
    data: ['\nline2\nline3'],
  },
  {
    id: 'empty-middle-line',
    name: 'an event of three lines, the second empty',
    lines: ['data: line1', 'data:', 'data: line3', ''],
    data: ['line1\n\nline3'],
  },
  {
    id: 'one-extra-blank',
    name: 'one extra blank line is ignored',
    lines: ['data: event 1', '', '', 'data: event 2', ''],
    data: ['event 1', 'event 2'],
  },
  {
    id: 'two-extra-blanks',
    name: 'two extra blank lines are ignored',
    lines: ['data: event 1', '', '', '', 'data: event 2', ''],
    data: ['event 1', 'event 2'],
  },
]

const CUTS = [
  { id: 'whole', name: 'in one chunk', size: Number.POSITIVE_INFINITY },
  { id: 'ones', name: 'in chunks of one character', size: 1 },
  { id: 'twos', name: 'in chunks of two characters', size: 2 },
]

const matrix = Object.entries(LINE_ENDS).flatMap(([lineEnd, terminator]) =>
  STREAMS.flatMap(({ id, name, lines, data }) =>
    CUTS.map(cut => {
      const text = lines.map(line => line + terminator).join('')
      return stream(
        'contract',
        `linefeeds-${lineEnd}-${id}-${cut.id}`,
        `${name}, ${lineEnd.toUpperCase()}, ${cut.name}`,
        inChunks(text, Math.min(cut.size, text.length)),
        data.map(one => event(one)),
      )
    }),
  ),
)

export const contractLinefeeds: Case[] = [
  ...matrix,
  stream(
    'contract',
    'linefeeds-crlf-cut',
    'a CRLF whose CR is the end of a chunk is one line end',
    ['data: Hello\r', '\ndata: World\r', '\n\r\ndata: OK\r', '\n', '\r', '\n'],
    [event('Hello\nWorld'), event('OK')],
  ),
]
