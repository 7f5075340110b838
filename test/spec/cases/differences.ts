import type { Expected } from './case.ts'

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
  events: [{ type: 'message', data, lastEventId: '' }],
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
      events: [
        { type: 'message', data: 'x', lastEventId: '1' },
        { type: 'message', data: 'again', lastEventId: '1' },
      ],
      dials: [{}, { lastEventId: '1' }, { lastEventId: '1' }],
      state: 'open',
      told: ['open', 'event', 'error: connecting', 'error: connecting', 'open', 'event'],
    },
  },
  {
    id: 'standard-replay',
    why: 'An event that was delivered on an earlier connection is not delivered again: layer 5.',
    expected: {
      events: [
        { type: 'message', data: 'x', lastEventId: '1' },
        { type: 'message', data: 'y', lastEventId: '2' },
        { type: 'message', data: 'z', lastEventId: '3' },
      ],
    },
  },
  {
    id: 'standard-id-control',
    why: 'Servers refuse a request with control characters for ever; the newest id that a header may carry is sent.',
    expected: { dials: [{}, { lastEventId: '7' }] },
  },
]

/** Clauses and rows of the suites that say nothing about a client like this one, or that need more than one socket. */
export const leftOut: { name: string; why: string }[] = [
  {
    name: 'web-platform format-field-retry and -bogus: not a tenth later than `retry` says',
    why: 'the standard lets clients wait longer, and this one draws up to as much again, so that clients do not come back together',
  },
  {
    name: '9.2.3 processing model: withCredentials; web-platform request-credentials, eventsource-cross-origin',
    why: 'cookies and CORS are the browser’s; they need a page and two origins',
  },
  {
    name: '9.2.7 authoring notes: six connections per server, chunking',
    why: 'advice to authors, nothing that a client does',
  },
  {
    name: '9.2.8 connectionless push, 9.2.9 garbage collection',
    why: 'permissions for browsers, nothing that a server or a caller sees',
  },
  {
    name: 'web-platform constructor*, prototype, document.domain, bfcache, realm',
    why: 'about the interface object and documents; they need a browser',
  },
]
