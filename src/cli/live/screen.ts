/** How often the block is drawn again, in milliseconds: smooth enough, and no work worth speaking of. */
export const FRAME_MS = 100

/** A block of lines that stays at the bottom of a terminal while other text passes above it. */
export class Screen {
  readonly #out: NodeJS.WriteStream
  readonly #lines: (width: number) => string[]
  readonly #timer: NodeJS.Timeout
  /** Lines on the terminal that are ours; the cursor stands in the line after them. */
  #drawn = 0
  #drawnAt = Number.NEGATIVE_INFINITY

  /** `lines`: the block as it is now, in so many columns at most. */
  constructor(out: NodeJS.WriteStream, lines: (width: number) => string[]) {
    this.#out = out
    this.#lines = lines
    this.#timer = setInterval(() => this.draw(), FRAME_MS)
    process.on('SIGCONT', this.#forget)
  }

  draw(): void {
    const { columns = 80, rows = 24 } = this.#out
    // Lines above the top of the screen could not be reached again.
    const lines = this.#lines(columns - 1).slice(0, Math.max(rows - 1, 1))
    // Overwritten rather than erased first: that would flicker.
    const text = lines.map(line => `${line}\x1b[K\n`).join('')
    this.#out.write(`${this.#up()}${text}\x1b[J`)
    this.#drawn = lines.length
    this.#drawnAt = performance.now()
  }

  /** Writes something that stays above the block. */
  above<Result>(write: () => Result): Result {
    if (this.#drawn > 0) this.#out.write(`${this.#up()}\x1b[J`)
    this.#drawn = 0
    const result = write()
    // A firehose would otherwise draw the block after each of its events.
    if (performance.now() - this.#drawnAt >= FRAME_MS / 2) this.draw()
    return result
  }

  /** No more drawing; the last block stays where it is, or is taken away. */
  end(how: 'keep' | 'erase'): void {
    clearInterval(this.#timer)
    process.off('SIGCONT', this.#forget)
    if (how === 'keep') this.draw()
    else if (this.#drawn > 0) this.#out.write(`${this.#up()}\x1b[J`)
    this.#drawn = 0
  }

  /** After Ctrl-Z and `fg` the shell's lines stand where the block stood. */
  readonly #forget = () => {
    this.#drawn = 0
  }

  #up(): string {
    return this.#drawn > 0 ? `\r\x1b[${this.#drawn}A` : '\r'
  }
}
