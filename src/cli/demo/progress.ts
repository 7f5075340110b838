import { Screen } from '../live/screen.ts'
import { table, WIDTH } from '../live/table.ts'
import { Watch } from '../live/watch.ts'
import { grouped, isTerminal, painter, sized } from '../terminal.ts'
import type { Run, Told } from './run.ts'

const BAR = 20
/** Piped: a line each time another tenth has come. */
const PARTS = 10

/** The live view of the stream under a bar on a terminal; a few plain lines in a pipe. */
export class Progress {
  readonly #out = process.stderr
  readonly #paint = painter(process.stderr)
  readonly #watch = new Watch()
  #run: Run | undefined
  #screen: Screen | undefined
  #parts = 0

  update(run: Run, told?: Told): void {
    if (this.#run === undefined) this.#start(run)
    if (told !== undefined) this.#watch.tell(told.event)
    if (this.#screen === undefined) this.#log(run)
  }

  /** Takes the view away: what follows it stands on its own. */
  done(): void {
    this.#screen?.end('erase')
  }

  #start(run: Run): void {
    this.#run = run
    if (!isTerminal(this.#out)) return
    this.#watch.follow(run.stream)
    this.#screen = new Screen(this.#out, columns => this.#lines(run, Math.min(columns, WIDTH)))
  }

  #lines({ plan, reception, server }: Run, width: number): string[] {
    const total = server.log.length
    const done = Math.floor((BAR * reception.received) / total)
    const bar = this.#paint('green', '█'.repeat(done)) + this.#paint('dim', '░'.repeat(BAR - done))
    const past = plan.strokes.filter(({ place }) => place.at <= reception.received)
    const counts = `${grouped(reception.received)}/${grouped(total)} · fault ${past.length}/${plan.strokes.length}`
    const now = past.at(-1)?.fault.name
    const text = `${counts}${now === undefined ? '' : `: ${now}`}`
    const view = this.#watch.view()
    return [
      '',
      `${bar} ${sized(text, Math.max(width - BAR - 1, 0)).trimEnd()}`,
      ...(view === undefined ? [] : table(view, this.#paint, width)),
    ]
  }

  #log({ plan, reception, server }: Run): void {
    const total = server.log.length
    const parts = Math.floor((PARTS * reception.received) / total)
    if (parts <= this.#parts) return
    this.#parts = parts
    const past = plan.strokes.filter(({ until }) => until < reception.received).length
    this.#out.write(
      `${grouped(reception.received)} of ${grouped(total)} events, ${past} of ${plan.strokes.length} faults survived\n`,
    )
  }
}
