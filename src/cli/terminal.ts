import { styleText } from 'node:util'

export type Ink = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Colours text for this stream: only on a terminal, and not when NO_COLOR asks for none (no-color.org). */
export function painter(stream: NodeJS.WriteStream): (ink: Ink, text: string) => string {
  const colours = stream.isTTY === true && !process.env.NO_COLOR
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
