import type { LifecycleEvent } from '../index.ts'
import { duration, grouped, harmlessLine, type Ink } from './terminal.ts'

/** A lifecycle event in one line for people, or nothing when the line before it said enough. */
export function describe(event: LifecycleEvent): { ink: Ink; text: string } | undefined {
  switch (event.type) {
    case 'open': {
      const how = event.resumed ? 'connected again' : 'connected'
      return {
        ink: 'green',
        text: harmlessLine(`${how}: ${event.url} (${event.status}, ${duration(event.tookMs)})`),
      }
    }
    case 'drop': {
      const lost = event.opened ? `lost after ${duration(event.openMs)}` : 'failed'
      return { ink: 'yellow', text: harmlessLine(`${lost}: ${event.error.message} (${event.error.code})`) }
    }
    case 'wait': {
      const why = {
        backoff: '',
        'retry-after': ', as the server asks',
        retry: ", at the server's pace",
        circuit: ', the circuit is open',
      }[event.reason]
      return { ink: 'dim', text: `again in ${duration(event.delayMs)}${why}` }
    }
    case 'stall':
      return event.phase === 'dead'
        ? undefined
        : { ink: 'dim', text: `silent for ${duration(event.silentMs)}: ${event.phase}` }
    case 'gap': {
      const from = event.after === undefined ? '' : ` after ${JSON.stringify(event.after)}`
      const to = event.before === undefined ? '' : ` before ${JSON.stringify(event.before)}`
      return {
        ink: 'red',
        text: harmlessLine(`gap: events may be missing${from}${to} (${event.reason})`),
      }
    }
    case 'duplicate':
      return { ink: 'dim', text: `dropped ${grouped(event.count)} events that were delivered before` }
    case 'circuit':
      return event.state === 'open'
        ? { ink: 'yellow', text: `circuit open after ${event.failures} failures in a row` }
        : undefined
    case 'cursor':
      return event.error === undefined
        ? undefined
        : { ink: 'red', text: harmlessLine(`${event.error.message} (${event.error.code})`) }
    default:
      return undefined
  }
}
