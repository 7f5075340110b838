import type { LifecycleEvent, SseEvent } from '../index.ts'
import { Screen } from './live/screen.ts'
import { line, table, WIDTH } from './live/table.ts'
import { Watch, type Watched } from './live/watch.ts'
import { describe } from './status.ts'
import { harmless, harmlessLine, type Ink, isTerminal, painter, write } from './terminal.ts'

export interface OutputOptions {
  json: boolean
  quiet: boolean
  stats: boolean
  /** Between two lines of --stats where there is no terminal. */
  statsEveryMs: number
}

/** Between two looks at the counters where nothing is drawn: as fine as the ages that are printed. */
const LOOK_MS = 100

/** Events go to stdout, everything else to stderr; on a terminal both pass above the live table. */
export class Output {
  readonly #options: OutputOptions
  readonly #watch = new Watch()
  readonly #paint = painter(process.stderr)
  readonly #shown = process.stdout.isTTY === true ? harmless : (text: string) => text
  #screen: Screen | undefined
  readonly #timers: NodeJS.Timeout[] = []

  constructor(options: OutputOptions) {
    this.#options = options
  }

  /** From now on there is something to look at. */
  start(stream: Watched): void {
    if (!this.#options.stats) return
    this.#watch.follow(stream)
    if (isTerminal(process.stderr)) {
      this.#screen = new Screen(process.stderr, width => this.#table(width))
      return
    }
    this.#timers.push(
      setInterval(() => this.#watch.look(), LOOK_MS),
      setInterval(() => this.#line(), this.#options.statsEveryMs),
    )
  }

  /** For `onLifecycle`. */
  readonly tell = (event: LifecycleEvent): void => {
    this.#watch.tell(event)
    const said = this.#options.quiet ? undefined : describe(event)
    if (said !== undefined) this.#say(said.ink, said.text)
  }

  /** Resolves when stdout has taken the event; rejects when its reader is gone. */
  print({ id, event, data }: SseEvent): Promise<void> {
    const { json } = this.#options
    const text = `${this.#shown(json ? JSON.stringify({ id, event, data }) : data)}\n`
    if (this.#screen === undefined || !isTerminal(process.stdout)) return write(process.stdout, text)
    return this.#screen.above(() => write(process.stdout, text))
  }

  /** The error that ended the stream. Nothing keeps it off stderr. */
  fail(text: string): void {
    this.end()
    this.#say('red', harmlessLine(`resilient-sse: ${text}`))
  }

  /** The last word of --stats. */
  end(): void {
    for (const timer of this.#timers) clearInterval(timer)
    if (this.#timers.splice(0).length > 0) this.#line()
    this.#screen?.end('keep')
    this.#screen = undefined
  }

  #say(ink: Ink, text: string): void {
    const say = () => process.stderr.write(`${this.#paint(ink, text)}\n`)
    if (this.#screen === undefined) say()
    else this.#screen.above(say)
  }

  #table(columns: number): string[] {
    const width = Math.min(columns, WIDTH)
    const view = this.#watch.view()
    return view === undefined
      ? []
      : [this.#paint('dim', '─'.repeat(width)), ...table(view, this.#paint, width)]
  }

  #line(): void {
    const view = this.#watch.view()
    if (view !== undefined) process.stderr.write(`${line(view)}\n`)
  }
}
