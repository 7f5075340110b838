import type { Consumer } from './consumer.ts'

export const CLIENT_STATES = [
  'idle',
  'connecting',
  'waiting',
  'open, reading',
  'open, consumer at work',
  'closed',
] as const
export type ClientState = (typeof CLIENT_STATES)[number]

export function clientState(consumer: Consumer | undefined): ClientState {
  const state = consumer?.stream.state ?? 'idle'
  if (state !== 'open') return state
  return consumer?.working ? 'open, consumer at work' : 'open, reading'
}

/** Which faults were met in which state of the client. */
export class Coverage {
  schedules = 0
  withFault = 0
  readonly cells = new Map<string, Map<ClientState, number>>()
  #faults = 0

  begin(): void {
    this.schedules++
    this.#faults = 0
  }

  end(): void {
    if (this.#faults > 0) this.withFault++
  }

  count(kind: string, state: ClientState): void {
    this.#faults++
    const row = this.cells.get(kind) ?? new Map<ClientState, number>()
    this.cells.set(kind, row)
    row.set(state, (row.get(state) ?? 0) + 1)
  }
}
