import { styleText } from 'node:util'

export type Ink = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export type Paint = (ink: Ink, text: string) => string

/** Whether the stream leads to a terminal that obeys escape sequences. */
export function isTerminal(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && process.env.TERM !== 'dumb'
}

/** Colours text for this stream: only on a terminal, and not when NO_COLOR asks for none (no-color.org). */
export function painter(stream: NodeJS.WriteStream): Paint {
  const colours = isTerminal(stream) && !process.env.NO_COLOR
  // Newer Nodes would otherwise judge by stdout, whatever stream the text is for.
  return (ink, text) => (colours ? styleText(ink, text, { validateStream: false }) : text)
}

// C0, DEL, C1, and the marks that turn the direction of text around: a terminal obeys them, a reader cannot see them.
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its whole purpose
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text from a server that may be shown on a terminal: what would steer the terminal is spelled out as `\u001b`. */
export function harmless(text: string): string {
  return text.replace(UNSAFE, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The same in one line, for identifiers and messages. */
export function harmlessLine(text: string): string {
  return harmless(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t')
}

/** Resolves when the stream has taken the text; rejects when its reader is gone (EPIPE). */
export function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, error => (error ? reject(error) : resolve()))
  })
}

/** Whether the reader of our output has gone away, as `head` does: no failure of ours. */
export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EPIPE' || error.code === 'EOF')
}

/** A duration in four characters or so: `0.4 ms` is noise, `12 ms`, `1.24 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
}

export const grouped = (count: number): string => count.toLocaleString('en')

/** 12345678 bytes in a few characters: `12.3 MB`. */
export function bytes(count: number): string {
  let amount = count
  for (const unit of ['B', 'kB', 'MB', 'GB', 'TB']) {
    if (amount < 999.5 || unit === 'TB')
      return `${unit === 'B' ? Math.round(amount) : significant(amount)} ${unit}`
    amount /= 1_000
  }
  return ''
}

/** Three digits at least: 1.23, 12.3, 123, 1,234. */
export function significant(amount: number): string {
  return amount === 0
    ? '0'
    : amount < 9.995
      ? amount.toFixed(2)
      : amount < 99.95
        ? amount.toFixed(1)
        : grouped(Math.round(amount))
}

/** How long something has lasted, to the precision that one can follow: `0.3 s`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function age(ms: number): string {
  if (ms < 9_950) return `${(Math.max(0, ms) / 1_000).toFixed(1)} s`
  const s = Math.round(ms / 1_000)
  if (s < 60) return `${s} s`
  if (s < 3_600) return s % 60 === 0 ? `${s / 60} min` : `${Math.floor(s / 60)} min ${s % 60} s`
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ${Math.floor(s / 60) % 60} min`
  return `${Math.floor(s / 86_400)} d ${Math.floor(s / 3_600) % 24} h`
}

// What most terminals draw over two columns, or none. Where they disagree this is too wide, which spoils no line.
const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303f\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6]/u
const NO_WIDTH = /[\p{Mn}\p{Me}]/u

/** How many columns the text takes on a terminal. */
export function columns(text: string): number {
  let width = 0
  for (const character of text) width += WIDE.test(character) ? 2 : NO_WIDTH.test(character) ? 0 : 1
  return width
}

/** The text in one line of exactly `width` columns: padded, or cut at the end. */
export function sized(text: string, width: number): string {
  return pad(cut([...harmlessLine(text)], width), width)
}

/** The same, cut in the middle: of ids the beginning and the end tell most. */
export function sizedMiddle(text: string, width: number): string {
  const characters = [...harmlessLine(text)]
  if (columns(characters.join('')) <= width) return pad(characters.join(''), width)
  const end = cut([...characters].reverse(), Math.floor((width - 1) / 2), '')
  const start = cut(characters, width - columns(end))
  return pad(start + [...end].reverse().join(''), width)
}

function cut(characters: readonly string[], width: number, mark = '…'): string {
  if (columns(characters.slice(0, width + 1).join('')) <= width && characters.length <= width)
    return characters.join('')
  let taken = ''
  let left = width - mark.length
  for (const character of characters) {
    left -= columns(character)
    if (left < 0) break
    taken += character
  }
  return taken + mark
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - columns(text)))
