import { type Case, event, inChunks, type Letters, type Piece, stream } from './case.ts'

// The contract suite of the LaunchDarkly SSE clients: basic parsing.

/** 5 MiB of random bytes in base64. */
const large = (seed: number): Letters => ({ letters: 6_990_508, seed })

const contract = (id: string, name: string, body: Piece[], ...events: ReturnType<typeof event>[]) =>
  stream('contract', `parsing-${id}`, name, body, events)

const manyData = Array.from({ length: 100 }, (_, index) => `message ${index}`)

export const contractParsing: Case[] = [
  contract('one-line', 'a one-line message in one chunk', ['data: Hello\n\n'], event('Hello')),
  contract(
    'shared-chunk',
    'two messages in three chunks, of which one belongs to both',
    ['data: test', 'test\n\ndata:', 'test\n\n'],
    event('testtest'),
    event('test'),
  ),
  contract('large', 'a large message in one chunk', [['data: ', large(1), '\n\n']], event(large(1))),
  {
    ...contract(
      'large-twice',
      'two large messages, each in a chunk of its own',
      [
        ['data: ', large(1), '\n\n'],
        ['data: ', large(2), '\n\n'],
      ],
      event(large(1)),
      event(large(2)),
    ),
  },
  contract('two-chunks', 'a one-line message in two chunks', ['data: Hel', 'lo\n\n'], event('Hello')),
  contract(
    'two-in-one',
    'two one-line messages in one chunk',
    ['data: Hello\n\ndata: World\n\n'],
    event('Hello'),
    event('World'),
  ),
  contract(
    'two-lines',
    'a two-line message in one chunk',
    ['data: Hello\ndata:World\n\n'],
    event('Hello\nWorld'),
  ),
  contract('empty-data', 'empty data is an event', ['data:\n\n'], event('')),
  contract(
    'type',
    'an event with a type of its own',
    ['event: greeting\ndata: Hello\n\n'],
    event('Hello', '', 'greeting'),
  ),
  contract(
    'default-type',
    'the type by default is message',
    ['data: Hello\n\n'],
    event('Hello', '', 'message'),
  ),
  contract('id', 'an event with an id', ['id: abc\ndata: Hello\n\n'], event('Hello', 'abc')),
  contract(
    'type-and-id',
    'an event with a type and an id',
    ['event: greeting\nid: abc\ndata: Hello\n\n'],
    event('Hello', 'abc', 'greeting'),
  ),
  contract('id-nul', 'an id with a NUL is ignored', ['id: a\0bc\ndata: Hello\n\n'], event('Hello')),
  contract(
    'id-persists',
    'the last id holds for later events that have none',
    ['id: abc\ndata: first\n\n', 'data: second\n\n'],
    event('first', 'abc'),
    event('second', 'abc'),
  ),
  contract(
    'id-emptied',
    'an empty id takes the last id back',
    ['id: abc\ndata: first\n\n', 'id: \ndata: second\n\n'],
    event('first', 'abc'),
    event('second'),
  ),
  contract(
    'reverse-order',
    'fields in reverse order',
    ['data: Hello\nid: abc\nevent: greeting\n\n'],
    event('Hello', 'abc', 'greeting'),
  ),
  contract(
    'unknown-field',
    'an unknown field is ignored',
    ['event: greeting\ncolor: blue\ndata: Hello\n\n'],
    event('Hello', '', 'greeting'),
  ),
  contract(
    'no-space',
    'fields without a space after the colon',
    ['event:greeting\ndata:Hello\n\n'],
    event('Hello', '', 'greeting'),
  ),
  contract(
    'two-spaces',
    'of two spaces after the colon the second is data',
    ['event:  greeting\ndata:  Hello\n\n'],
    event(' Hello', '', ' greeting'),
  ),
  contract(
    'no-colon',
    'a field without a colon has an empty value',
    ['data\n\ndata\ndata\n\n'],
    event(''),
    event('\n'),
  ),
  contract('multi-byte', 'multi-byte characters', ['data: €豆腐\n\n'], event('€豆腐')),
  contract(
    'many',
    'many messages in rapid succession keep their order',
    [manyData.map(data => `data: ${data}\n\n`).join('')],
    ...manyData.map(data => event(data)),
  ),
  contract(
    'multi-byte-in-bytes',
    'multi-byte characters in single bytes, 20 ms apart',
    inChunks('data: €豆腐\n\n', 1, 20),
    event('€豆腐'),
  ),
]
