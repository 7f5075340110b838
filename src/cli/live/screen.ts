import { stripVTControlCharacters } from 'node:util'
import { columns } from '../terminal.ts'

/** How often the block is drawn again, in milliseconds: smooth enough, and no work worth speaking of. */
const FRAME_MS = 100
/** The least between two drawings: a firehose would otherwise have one after each of its events. */
const LEAST_MS = 16

/** A block of lines that stays at the bottom of a terminal while other text passes above it. */
export class Screen {
  readonly #out: NodeJS.WriteStream
  readonly #lines: (width: number) => string[]
  readonly #timer: NodeJS.Timeout
  #soon: NodeJS.Timeout | undefined
  /** Widths of the lines on the terminal that are ours; the cursor stands in the line after them. */
  #drawn: readonly number[] = []
  #drawnAt = Number.NEGATIVE_INFINITY

  /** `lines`: the block as it is now, in so many columns at most. */
  constructor(out: NodeJS.WriteStream, lines: (width: number) => string[]) {
    this.#out = out
    this.#lines = lines
    this.#timer = setInterval(() => this.#draw(), FRAME_MS)
    process.on('SIGCONT', this.#forget)
  }

  /** Writes something that stays above the block. */
  above<Result>(write: () => Result): Result {
    this.#erase()
    const result = write()
    const wait = LEAST_MS - (performance.now() - this.#drawnAt)
    if (wait <= 0) this.#draw()
    else this.#soon ??= setTimeout(() => this.#draw(), wait)
    return result
  }

  /** No more drawing; the last block stays where it is, or is taken away. */
  end(how: 'keep' | 'erase'): void {
    if (how === 'keep') this.#draw()
    else this.#erase()
    this.#forget()
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    process.off('SIGCONT', this.#forget)
  }

  #draw(): void {
    clearTimeout(this.#soon)
    this.#soon = undefined
    const { columns: width = 80, rows = 24 } = this.#out
    // Lines above the top of the screen could not be reached again.
    const lines = this.#lines(width - 1).slice(0, Math.max(rows - 1, 1))
    // Overwritten rather than erased first: that would flicker.
    const text = lines.map(line => `${line}\x1b[K\n`).join('')
    this.#out.write(`${this.#up()}${text}\x1b[J`)
    this.#drawn = lines.map(line => columns(stripVTControlCharacters(line)))
    this.#drawnAt = performance.now()
  }

  #erase(): void {
    if (this.#drawn.length > 0) this.#out.write(`${this.#up()}\x1b[J`)
    this.#drawn = []
  }

  #up(): string {
    // A terminal that became narrower has broken our lines.
    const width = this.#out.columns ?? 80
    const rows = this.#drawn.reduce((sum, one) => sum + Math.max(1, Math.ceil(one / width)), 0)
    return rows > 0 ? `\r\x1b[${rows}A` : '\r'
  }

  /** After Ctrl-Z and `fg` the shell's lines stand where the block stood. */
  readonly #forget = () => {
    this.#drawn = []
  }
}
