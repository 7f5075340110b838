const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const BOM = [0xef, 0xbb, 0xbf]

/**
 * The bytes of one connection, given out as they came, but in whole blocks only: the begin of a block that a dead connection
 * left behind must not run into the first block of the next. Bytes, not events: nothing is encoded twice, and what only the
 * client understands is not lost.
 */
export class WholeBlocks {
  /** A block that was begun. */
  #begun: Uint8Array[] = []
  /** The last two bytes, of which the first may be missing; a stream begins as if after a blank line. */
  #last: [number, number] = [LF, LF]
  #isStart = true

  /** The blocks that this chunk ends, in pieces that are views of it. */
  push(chunk: Uint8Array): Uint8Array[] {
    if (chunk.length === 0) return []
    const end = this.#endOfLastBlock(chunk)
    this.#last = [chunk.length > 1 ? (chunk.at(-2) as number) : this.#last[1], chunk.at(-1) as number]
    if (end === 0) {
      this.#begun.push(new Uint8Array(chunk))
      return []
    }
    const pieces = [...this.#begun, chunk.subarray(0, end)]
    // Copied, so that a few bytes do not keep the whole chunk alive. Not by slice(), which copies nothing of a Buffer.
    this.#begun = end < chunk.length ? [new Uint8Array(chunk.subarray(end))] : []
    return this.#withoutBom(pieces)
  }

  /** What is left when the response is complete: it is not cut, and what it means is for the client to say. */
  rest(): Uint8Array[] {
    return this.#withoutBom(this.#begun.splice(0))
  }

  /** The position after the last blank line, and after the comment lines that follow it, which wait for nothing. */
  #endOfLastBlock(chunk: Uint8Array): number {
    let end = 0
    for (let at = chunk.length - 1; at >= 0 && end === 0; at--)
      if (this.#endsBlankLine(chunk, at)) end = at + 1
    if (end === 0 && this.#begun.length > 0) return 0
    while (chunk[end] === COLON) {
      let at = end
      while (at < chunk.length && chunk[at] !== LF && chunk[at] !== CR) at++
      if (at === chunk.length) break
      end = chunk[at] === CR && chunk[at + 1] === LF ? at + 2 : at + 1
    }
    return end
  }

  /** Whether a line ends at `at`, and the one before it ends right before that. */
  #endsBlankLine(chunk: Uint8Array, at: number): boolean {
    const byte = this.#byte(chunk, at)
    if (byte !== LF && byte !== CR) return false
    const before = this.#byte(chunk, at - 1)
    // CRLF is one line end.
    const previous = byte === LF && before === CR ? this.#byte(chunk, at - 2) : before
    return previous === LF || previous === CR
  }

  #byte(chunk: Uint8Array, at: number): number | undefined {
    return at >= 0 ? chunk[at] : this.#last[at + 2]
  }

  /** [spec] a stream may begin with one; in the middle of a stream it would be text. */
  #withoutBom(pieces: Uint8Array[]): Uint8Array[] {
    if (!this.#isStart || pieces.length === 0) return pieces
    this.#isStart = false
    const start = joined(pieces)
    const text = BOM.every((byte, index) => start[index] === byte) ? start.subarray(BOM.length) : start
    return text.length > 0 ? [text] : []
  }
}

/** A copy of all of them, in a buffer of its own: its reader may give that away. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
