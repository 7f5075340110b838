import { type Case, event, type Piece, stream } from './case.ts'

// The contract suite of the LaunchDarkly SSE clients: byte order marks, and comments.

const BOM = '\ufeff'

const bom = (
  id: string,
  name: string,
  body: Piece[],
  events: ReturnType<typeof event>[],
  comments?: string[],
) => stream('contract', `bom-${id}`, name, body, events, comments)

export const contractBom: Case[] = [
  bom('start', 'a BOM at the start is stripped', [`${BOM}data: Hello\n\n`], [event('Hello')]),
  bom(
    'type-and-id',
    'a BOM is stripped before a type and an id',
    [`${BOM}event: greeting\nid: abc\ndata: Hello\n\n`],
    [event('Hello', 'abc', 'greeting')],
  ),
  bom(
    'messages',
    'a BOM is stripped before several messages',
    [`${BOM}data: First\n\ndata: Second\n\n`],
    [event('First'), event('Second')],
  ),
  bom(
    'later',
    'a BOM in later data is data',
    ['data: First\n\n', `data: ${BOM}Second\n\n`],
    [event('First'), event(`${BOM}Second`)],
  ),
  bom(
    'split',
    'a BOM is stripped whose last byte comes in the next chunk',
    [{ hex: 'efbb' }, [{ hex: 'bf' }, 'data: Hello\n\n']],
    [event('Hello')],
  ),
  bom(
    'bytes',
    'a BOM is stripped that comes byte by byte',
    [{ hex: 'ef' }, { hex: 'bb' }, { hex: 'bf' }, 'data: Hello\n\n'],
    [event('Hello')],
  ),
  bom(
    'first-only',
    'a BOM is stripped, the one in the data behind it is not',
    [`${BOM}data: ${BOM}Hello\n\n`],
    [event(`${BOM}Hello`)],
  ),
  bom('none', 'a stream needs no BOM', ['data: Hello\n\n'], [event('Hello')]),
  bom(
    'lines',
    'a BOM before data of two lines',
    [`${BOM}data: Line1\ndata: Line2\n\n`],
    [event('Line1\nLine2')],
  ),
  bom(
    'comment',
    'a BOM before a comment',
    [`${BOM}:comment\ndata: Hello\n\n`],
    [event('Hello')],
    ['comment'],
  ),
  bom('empty', 'a BOM before empty data', [`${BOM}data:\n\n`], [event('')]),
]

const comment = (
  id: string,
  name: string,
  body: Piece[],
  events: ReturnType<typeof event>[],
  ...comments: string[]
) => stream('contract', `comments-${id}`, name, body, events, comments)

export const contractComments: Case[] = [
  comment('single', 'a comment is told at its line end', [':Hello\n'], [], 'Hello'),
  comment('two', 'two comments in a row', [':Hello\n', ':World\n'], [], 'Hello', 'World'),
  comment('before', 'a comment before an event', [':Hello\n', 'data: Hello\n\n'], [event('Hello')], 'Hello'),
  comment('after', 'a comment after an event', ['data: Hello\n\n', ':Hello\n'], [event('Hello')], 'Hello'),
]
