import { type Expected, event } from './case.ts'

/** Where the core, resilient by default, deliberately does something else than the case says. */
export interface Difference {
  /** The case. */
  id: string
  why: string
  /** What the core does instead, beside the rest. */
  expected: Partial<Expected>
}

const RETRIED =
  'The standard fails the connection for every status but 200. 5xx speaks of a moment, and a stream that dies of it needs a human.'

const backAfterRetry = (data: string): Partial<Expected> => ({
  events: [event(data)],
  dials: [{}, {}],
  state: 'open',
  told: ['error: connecting', 'open', 'event'],
})

export const differences: Difference[] = [
  { id: 'standard-status-500', why: RETRIED, expected: backAfterRetry('again') },
  { id: 'web-platform-request-status-error-503', why: RETRIED, expected: backAfterRetry('back') },
  {
    id: 'standard-type-later',
    why: 'A page instead of the stream that was there before is the error page of a proxy, and passes.',
    expected: {
      events: [event('x', '1'), event('again', '1')],
      dials: [{}, { lastEventId: '1' }, { lastEventId: '1' }],
      state: 'open',
      told: ['open', 'event', 'error: connecting', 'error: connecting', 'open', 'event'],
    },
  },
  {
    id: 'standard-replay',
    why: 'An event that was delivered on an earlier connection is not delivered again: layer 5.',
    expected: {
      events: [event('x', '1'), event('y', '2'), event('z', '3')],
    },
  },
  {
    id: 'standard-id-control',
    why: 'Servers refuse a request with control characters for ever; the newest id that a header may carry is sent.',
    expected: { dials: [{}, { lastEventId: '7' }] },
  },
]
