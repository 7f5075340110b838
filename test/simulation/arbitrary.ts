import fc from 'fast-check'
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
  { weight: 2, arbitrary: fc.record({ from: fc.constant('overlap' as const), count }) },
  { weight: 1, arbitrary: fc.record({ from: fc.constant('forgotten' as const), count }) },
)

const retry = fc.constantFrom('3000', '0', '50', '150', '20000', '99999999999', 'soon')
const write: fc.Arbitrary<Write> = fc.record({
  afterMs: longDelay,
  bytes: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 400 }) },
  ),
  plus: fc.oneof(
    { weight: 8, arbitrary: fc.constant('nothing' as const) },
    { weight: 3, arbitrary: fc.constant('comment' as const) },
    { weight: 1, arbitrary: fc.record({ retry }) },
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
    { weight: 3, arbitrary: fc.constant('end' as const) },
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

const options = fc.record({
  heartbeat: fc.oneof(
    { weight: 5, arbitrary: fc.constant('auto' as const) },
    { weight: 1, arbitrary: fc.constant('off' as const) },
    { weight: 2, arbitrary: fc.constantFrom(5_000, 20_000) },
  ),
  dedupe: fc.oneof(
    { weight: 5, arbitrary: fc.constant({ capacity: 10_000, by: 'id' as const }) },
    {
      weight: 2,
      arbitrary: fc.record({ capacity: fc.constantFrom(1, 2, 3, 8), by: fc.constant('id' as const) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ capacity: fc.constantFrom(10_000, 4), by: fc.constant('id+data' as const) }),
    },
    { weight: 1, arbitrary: fc.constant('off' as const) },
  ),
  breaker: fc.oneof(
    { weight: 5, arbitrary: fc.constant({ threshold: 6, cooldownMs: 30_000, onOpen: 'wait' as const }) },
    {
      weight: 4,
      arbitrary: fc.record({
        threshold: fc.constantFrom(6, 1, 2),
        cooldownMs: fc.constantFrom(30_000, 1_000),
        onOpen: fc.constantFrom('wait' as const, 'auto' as const, 'throw' as const),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom('off' as const, 'shared' as const) },
  ),
  backoff: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.constant({ baseMs: 500, jitter: 'full' as const, maxAttempts: Number.POSITIVE_INFINITY }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        baseMs: fc.constantFrom(500, 0, 100),
        jitter: fc.constantFrom('full' as const, 'equal' as const, 'decorrelated' as const, 0, 0.25),
        maxAttempts: fc.constantFrom(Number.POSITIVE_INFINITY, 3),
      }),
    },
    { weight: 1, arbitrary: fc.constant('off' as const) },
  ),
  resume: fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        onGap: fc.constantFrom('report' as const, 'report' as const, 'throw' as const),
        isNext: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.constant('off' as const) },
  ),
  openTimeoutMs: fc.constantFrom(30_000, 2_000),
  maxConnectionMs: fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(1_000, 20_000) },
  ),
  reconnectOnEnd: fc.oneof(
    { weight: 7, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  deafFetch: fc.oneof(
    { weight: 3, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
})

const consumer = fc
  .oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        reads: fc.constantFrom('events' as const, 'batches' as const),
        ack: fc.constant('next' as const),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        reads: fc.constantFrom('events' as const, 'batches' as const, 'ahead' as const),
        ack: fc.constant('manual' as const),
      }),
    },
  )
  .chain(mode =>
    fc.record({
      reads: fc.constant(mode.reads),
      ack: fc.constant(mode.ack),
      workMs: fc.oneof(
        { weight: 2, arbitrary: fc.constant<number[]>([0]) },
        {
          weight: 2,
          arbitrary: fc.array(fc.constantFrom(0, 0, 3, 250, 4_000), { minLength: 1, maxLength: 4 }),
        },
        {
          weight: 1,
          arbitrary: fc.array(fc.constantFrom(0, 0, 0, 0, 20, 40_000, 130_000), {
            minLength: 3,
            maxLength: 9,
          }),
        },
      ),
      acts: fc.array(
        fc.record({
          at: fc.integer({ min: 1, max: 25 }),
          do: fc.constantFrom(
            'break' as const,
            'throw' as const,
            'reconnect' as const,
            'crash' as const,
            'abort' as const,
            'close' as const,
          ),
        }),
        { maxLength: 3 },
      ),
      restartMs: fc.constantFrom(0, 100, 5_000),
    }),
  )

const store = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  {
    weight: 3,
    arbitrary: fc.record({
      saves: fc.array(
        fc.record({
          ms: fc.constantFrom(0, 0, 10, 700, 15_000),
          fails: fc.oneof(
            { weight: 5, arbitrary: fc.constant(false) },
            { weight: 1, arbitrary: fc.constant(true) },
          ),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      loadMs: fc.constantFrom(0, 0, 50, 3_000),
      failingLoads: fc.oneof(
        { weight: 6, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.constant(1) },
      ),
    }),
  },
)

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
