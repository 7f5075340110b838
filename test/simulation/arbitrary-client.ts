import fc from 'fast-check'

// The first alternative of each choice is the plainest: that is where shrinking goes.

export const options = fc.record({
  heartbeat: fc.oneof(
    { weight: 5, arbitrary: fc.constant('auto' as const) },
    { weight: 1, arbitrary: fc.constant('off' as const) },
    { weight: 2, arbitrary: fc.constantFrom(5_000, 20_000) },
  ),
  dedupe: fc.oneof(
    { weight: 5, arbitrary: fc.constant({ capacity: 10_000, by: 'id' as const }) },
    {
      weight: 3,
      arbitrary: fc.record({ capacity: fc.constantFrom(2, 1, 4, 6), by: fc.constant('id' as const) }),
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

export const consumer = fc
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
        { weight: 1, arbitrary: fc.constant<number[]>([0]) },
        {
          weight: 2,
          arbitrary: fc.array(fc.constantFrom(0, 0, 3, 250, 4_000), { minLength: 1, maxLength: 4 }),
        },
        {
          weight: 2,
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

export const store = fc.oneof(
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
