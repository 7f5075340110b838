import { duration, grouped, painter } from '../terminal.ts'
import type { Run, Told } from './run.ts'

/** How often the line is drawn again, in milliseconds: smooth enough, and no work worth speaking of. */
const FRAME_MS = 80
const BAR = 10
/** Piped: a line each time another tenth has come. */
const PARTS = 10

/** One line on a terminal, drawn again and again; a few plain lines in a pipe. */
export class Progress {
  readonly #out = process.stderr
  readonly #paint = painter(process.stderr)
  readonly #live = process.stderr.isTTY === true
  #drawnAt = 0
  #parts = 0
  #state = ''

  update(run: Run, told?: Told): void {
    if (told !== undefined) this.#state = stateAfter(told) ?? this.#state
    if (this.#live) this.#draw(run, told?.event.type === 'wait')
    else this.#log(run)
  }

  #draw(run: Run, urgent: boolean): void {
    const now = performance.now()
    if (now - this.#drawnAt < FRAME_MS && !urgent) return
    this.#drawnAt = now
    this.#out.write(`\r\x1b[K${this.#line(run)}`)
  }

  /** Takes the line away: what follows it stands on its own. */
  done(): void {
    if (this.#live) this.#out.write('\r\x1b[K')
  }

  #line({ plan, reception, server }: Run): string {
    const total = server.log.length
    const done = Math.floor((BAR * reception.received) / total)
    const bar = this.#paint('green', '█'.repeat(done)) + this.#paint('dim', '░'.repeat(BAR - done))
    const width = (this.#out.columns ?? 80) - BAR - 3
    const past = plan.strokes.filter(({ place }) => place.at <= reception.received)
    const counts = `${grouped(reception.received)}/${grouped(total)} · ${past.length}/${plan.strokes.length}`
    const now = past.at(-1)?.fault.name
    return ` ${bar} ${`${counts} · ${now === undefined ? '' : `${now}: `}${this.#state}`.slice(0, width)}`
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

function stateAfter({ event }: Told): string | undefined {
  switch (event.type) {
    case 'dial':
      return 'dialling'
    case 'open':
      return 'streaming'
    case 'wait':
      return `waiting ${duration(event.delayMs)}`
    default:
      return undefined
  }
}
