import { type Bytes, type Case, type ExpectedEvent, event, type Letters, type Piece, stream } from './case.ts'

// HTML standard, 9.2.5: from bytes to lines.

const BOM = '\ufeff'

const parsing = (id: string, name: string, body: Piece[], ...events: ExpectedEvent[]) =>
  stream('standard', id, `9.2.5 parsing: ${name}`, body, events)

/** The text of an event whose data are these bytes. */
function decoded(id: string, name: string, hex: string, text: string): Case {
  const body: Bytes[] = ['data: <', { hex }, '>\n\n']
  return parsing(`utf-8-${id}`, name, [body], event(`<${text}>`))
}

const LONG: Letters = { letters: 200_000, seed: 3 }

export const standardParsing: Case[] = [
  decoded('bytes', 'bytes are decoded as UTF-8', 'c3a9e282acf09d849e', 'é€\u{1d11e}'),
  decoded('invalid', 'a byte that UTF-8 does not have is replaced', 'ff41', '\ufffdA'),
  decoded('lonely', 'a continuation byte without a beginning is replaced', '8041', '\ufffdA'),
  decoded('cut-off', 'a character that is cut off is replaced once', 'f09d8441', '\ufffdA'),
  decoded('overlong', 'each byte of an overlong form is replaced', 'c0af', '\ufffd\ufffd'),
  decoded('surrogate', 'each byte of a surrogate is replaced', 'eda080', '\ufffd\ufffd\ufffd'),
  parsing(
    'utf-8-line-end',
    'a line end is one also behind a character that is cut off',
    [['data: ', { hex: 'e282' }, '\ndata: x\n\n']],
    event('\ufffd\nx'),
  ),
  {
    ...parsing('charset', 'no other encoding can be asked for', [], event('é')),
    answers: [{ contentType: 'text/event-stream; charset=iso-8859-1', body: ['data: é\n\n'] }],
  },
  parsing('bom', 'one BOM at the start is ignored', [`${BOM}data: x\n\n`], event('x')),
  parsing('bom-alone', 'a stream of nothing but a BOM is an empty one', [BOM]),
  parsing(
    'bom-twice',
    'a second BOM is a part of its line',
    [`${BOM}${BOM}data: x\n\ndata: y\n\n`],
    event('y'),
  ),
  parsing(
    'bom-later',
    'a BOM after a line end is a part of its line',
    [`\n${BOM}data: x\n\ndata: y\n\n`],
    event('y'),
  ),
  parsing(
    'bom-double-encoded',
    'the bytes of a BOM that were taken for Latin-1 and encoded again are no BOM',
    [[{ hex: 'c3afc2bbc2bf' }, 'data: x\n\ndata: y\n\n']],
    event('y'),
  ),
  parsing(
    'bom-then-double-encoded',
    'behind a BOM they are a part of their line, too',
    [[BOM, { hex: 'c3afc2bbc2bf' }, 'data: x\n\ndata: y\n\n']],
    event('y'),
  ),
  parsing(
    'bom-utf-16',
    'the BOM of UTF-16 is none',
    [[{ hex: 'fffe' }, 'data: x\n\ndata: y\n\n']],
    event('y'),
  ),
  parsing(
    'bom-begun',
    'the first two bytes of a BOM are none',
    [[{ hex: 'efbb' }, 'data: x\n\ndata: y\n\n']],
    event('y'),
  ),
  parsing('line-lf', 'LF ends a line', ['data: a\ndata: b\n\n'], event('a\nb')),
  parsing('line-cr', 'CR ends a line', ['data: a\rdata: b\r\r'], event('a\nb')),
  parsing('line-crlf', 'CRLF ends one line', ['data: a\r\ndata: b\r\n\r\n'], event('a\nb')),
  parsing('line-lfcr', 'LF CR ends two lines', ['data: a\n\rdata: b\n\r'], event('a'), event('b')),
  parsing('line-cr-crlf', 'CR CRLF ends two lines', ['data: a\r\r\ndata: b\r\r\n'], event('a'), event('b')),
  parsing('line-mixed', 'all three may be mixed', ['data: a\rdata: b\r\ndata: c\n\r\n'], event('a\nb\nc')),
  parsing(
    'line-no-others',
    'vertical tab, form feed, NEL and the separators of Unicode end no line',
    ['data: a\vb\fc\u0085d\u2028e\u2029f\n\n'],
    event('a\vb\fc\u0085d\u2028e\u2029f'),
  ),
  parsing(
    'any-char',
    'every other character may stand in a line',
    ['data: \0\u0001\u001f"\\\u007f\u{10ffff}\ufffe\n\n'],
    event('\0\u0001\u001f"\\\u007f\u{10ffff}\ufffe'),
  ),
  parsing(
    'blank-lines',
    'a stream may begin with blank lines and have many',
    ['\n\r\n\rdata: a\n\n\n\n\r\r'],
    event('a'),
  ),
  parsing('long-line', 'a line may have any length', [['data: ', LONG, '\n\n']], event(LONG)),
  parsing(
    'at-once',
    'an event is told at its blank line, without anything behind it',
    ['data: x\n\n'],
    event('x'),
  ),
  parsing(
    'at-once-cr',
    'that holds for a blank line of CR, which may still become CRLF',
    ['data: x\r\r'],
    event('x'),
  ),
  parsing('unfinished', 'a block without its blank line is not told', ['data: x\n\ndata: y\n'], event('x')),
]
