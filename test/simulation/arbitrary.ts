import fc from 'fast-check'
import { consumer, options, store } from './arbitrary-client.ts'
import type { Disturbance, EntryKind, Leg, Origin, Schedule, StreamLeg, Write } from './schedule.ts'

// The first alternative of each choice is the plainest: that is where shrinking goes.

const delay = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 900 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1_000, max: 15_000 }) },
)
const longDelay = fc.oneof(
  { weight: 6, arbitrary: delay },
  { weight: 1, arbitrary: fc.integer({ min: 15_000, max: 200_000 }) },
)

const count = fc.integer({ min: 1, max: 12 })
const origin: fc.Arbitrary<Origin> = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Origin>({ from: 'after' }) },
  { weight: 2, arbitrary: fc.constant<Origin>({ from: 'at' }) },
  { weight: 3, arbitrary: fc.constant<Origin>({ from: 'start' }) },
  { weight: 1, arbitrary: fc.constant<Origin>({ from: 'now' }) },
  { weight: 5, arbitrary: fc.record({ from: fc.constant('overlap' as const), count }) },
  { weight: 1, arbitrary: fc.record({ from: fc.constant('forgotten' as const), count }) },
)

const retry = fc.constantFrom('3000', '0', '50', '150', '0', '20000', '99999999999', '9'.repeat(30), 'soon')
const write: fc.Arbitrary<Write> = fc.record({
  afterMs: longDelay,
  bytes: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 70 }) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 400 }) },
  ),
  plus: fc.oneof(
    { weight: 10, arbitrary: fc.constant('nothing' as const) },
    { weight: 2, arbitrary: fc.constant('comment' as const) },
    { weight: 2, arbitrary: fc.record({ retry }) },
  ),
})

const streamLeg: fc.Arbitrary<StreamLeg> = fc.record({
  do: fc.constant('stream' as const),
  delayMs: fc.oneof(
    { weight: 6, arbitrary: delay },
    { weight: 1, arbitrary: fc.integer({ min: 5_000, max: 120_000 }) },
  ),
  from: origin,
  greeting: fc.oneof(
    { weight: 8, arbitrary: fc.constant('none' as const) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        'comment' as const,
        'idOnly' as const,
        'emptyEvent' as const,
        'retry' as const,
      ),
    },
  ),
  framed: fc.oneof({ weight: 6, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  writes: fc.array(write, { maxLength: 6 }),
  end: fc.oneof(
    { weight: 4, arbitrary: fc.constant('reset' as const) },
    { weight: 4, arbitrary: fc.constant('end' as const) },
    { weight: 1, arbitrary: fc.constant('stall' as const) },
    { weight: 2, arbitrary: fc.constant('follow' as const) },
  ),
  endAfterMs: longDelay,
  commentsMs: fc.constantFrom(0, 5_000, 15_000, 40_000),
})

const NETWORK_CODES = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'ETIMEDOUT',
  'ECONNRESET',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'CERT_HAS_EXPIRED',
]
const STATUSES = [503, 500, 502, 504, 429, 408, 425, 204, 401, 403, 404, 410, 501]

const leg: fc.Arbitrary<Leg> = fc.oneof(
  { weight: 12, arbitrary: streamLeg },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('refuse' as const),
      delayMs: delay,
      code: fc.constantFrom(...NETWORK_CODES),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'hang' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('status' as const),
      delayMs: delay,
      status: fc.constantFrom(...STATUSES),
      retryAfter: fc.oneof(
        { weight: 3, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom('7', '0', '120', '99999999', 'later') },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('type' as const),
      delayMs: delay,
      type: fc.constantFrom('text/html', 'application/json'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('redirect' as const),
      delayMs: delay,
      status: fc.constantFrom(307, 301, 302, 303, 308),
      hops: fc.constantFrom(1, 3, 25),
      usable: fc.oneof(
        { weight: 3, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) },
      ),
    }),
  },
)

/** Mostly one kind of trouble after another, sometimes the same one again and again. */
const legs = fc.oneof(
  { weight: 5, arbitrary: fc.array(leg, { minLength: 0, maxLength: 6 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(leg, fc.integer({ min: 4, max: 14 }))
      .map(([one, times]) => Array.from({ length: times }, () => one)),
  },
)

const entryKind: fc.Arbitrary<EntryKind> = fc.oneof(
  { weight: 14, arbitrary: fc.constant<EntryKind>('event') },
  {
    weight: 6,
    arbitrary: fc.constantFrom<EntryKind[]>(
      'typed',
      'lines',
      'long',
      'noId',
      'emptyId',
      'idOnly',
      'unsendable',
    ),
  },
)

const log = fc.record({
  ids: fc.oneof(
    { weight: 4, arbitrary: fc.constant('decimal' as const) },
    { weight: 4, arbitrary: fc.constant('opaque' as const) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        'unicode' as const,
        'shared' as const,
        'renumbered' as const,
        'none' as const,
      ),
    },
  ),
  entries: fc.oneof(
    { weight: 2, arbitrary: fc.array(entryKind, { minLength: 2, maxLength: 14 }) },
    {
      weight: 2,
      arbitrary: fc
        .integer({ min: 2, max: 20 })
        .map(n => Array.from({ length: n }, () => 'event' as EntryKind)),
    },
    {
      weight: 1,
      arbitrary: fc
        .integer({ min: 20, max: 70 })
        .map(n => Array.from({ length: n }, () => 'event' as EntryKind)),
    },
  ),
  initial: fc.integer({ min: 0, max: 20 }),
  everyMs: fc.constantFrom(50, 400, 3_000),
  eol: fc.constantFrom('\n' as const, '\r\n' as const),
})

const disturbance: fc.Arbitrary<Disturbance> = fc.record({
  atMs: fc.oneof(
    { weight: 1, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
    { weight: 4, arbitrary: fc.integer({ min: 3_000, max: 60_000 }) },
  ),
  do: fc.constantFrom(
    'reconnect' as const,
    'sleep' as const,
    'freeze' as const,
    'wallclock' as const,
    'abort' as const,
    'close' as const,
    'crash' as const,
  ),
  ms: fc.constantFrom(20_000, 60_000, 3_600_000),
})

export const schedules: fc.Arbitrary<Schedule> = fc.record<Schedule>({
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  log,
  legs,
  options,
  consumer,
  store,
  disturbances: fc.oneof(
    { weight: 1, arbitrary: fc.constant<Disturbance[]>([]) },
    { weight: 2, arbitrary: fc.array(disturbance, { maxLength: 4 }) },
  ),
})
