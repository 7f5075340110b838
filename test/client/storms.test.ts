import { describe, expect, test } from 'vitest'
import { block, broken, ended, open, status, World } from './world.ts'

const HOUR = 3_600_000

describe('a service that is down for an hour', () => {
  test('is dialled at most 40 times by a stream that waits', async () => {
    const world = new World(() => status(503))
    const consumer = world.stream({ breaker: { onOpen: 'wait' } }).run()
    await world.pass(HOUR)
    expect(consumer.over).toBe(false)
    expect(world.dials.length).toBeGreaterThan(10)
    expect(world.dials.length).toBeLessThanOrEqual(40)
  })

  test('is dialled at most 40 times by a stream that was open before', async () => {
    const world = new World([() => broken(block(1)), () => status(503)])
    const consumer = world.stream().run()
    await world.pass(HOUR)
    expect(consumer.over).toBe(false)
    expect(world.dials.length).toBeGreaterThan(10)
    expect(world.dials.length).toBeLessThanOrEqual(40)
    expect(consumer.stream.state).toBe('waiting')
  })

  test('is dialled once every 16 s or so without the breaker: which is why there is one', async () => {
    const world = new World(() => status(503))
    world.stream({ breaker: false }).run()
    await world.pass(HOUR)
    expect(world.dials.length).toBeGreaterThan(250)
  })

  test('is found again within a probe of its return', async () => {
    const world = new World(dial => (dial.at < HOUR / 2 ? status(503) : open(block(dial.nr))))
    const consumer = world.stream({ breaker: { onOpen: 'wait' } }).run()
    await world.pass(HOUR / 2 + 375_000)
    expect(consumer.data.length).toBeGreaterThan(0)
    expect(consumer.stream.stats().breaker.state).toBe('closed')
    expect(consumer.tellings('circuit').at(-1)).toMatchObject({ state: 'closed', retryAt: undefined })
  })
})

describe('a server that flaps', () => {
  const kinds = {
    'closes after each event with an id': nr => ended(`retry: 0\n\n${block(nr)}`),
    'closes after each event without an id': () => ended('retry: 0\n\ndata: x\n\n'),
    'greets and breaks': () => broken('retry: 0\n\nevent: hello\ndata: welcome\n\n'),
    'greets with a comment and breaks': () => broken('retry: 0\n: welcome\n\n'),
    'primes with an id and breaks': nr => broken(`retry: 0\nid: ${nr}\ndata:\n\n`),
    'greets with a fresh id and breaks': nr => broken(`retry: 0\n\n${block(nr, 'welcome')}`),
    'sends an error event and ends': () => ended('retry: 0\n\nevent: error\ndata: overloaded\n\n'),
    'opens and ends': () => ended('retry: 0\n\n'),
    'opens and breaks': () => broken(),
    'ends without any retry field': nr => ended(block(nr)),
    'asks for 150 ms and ends after data without an id': () => ended('retry: 150\n\ndata: x\n\n'),
    'replays its last event each time and ends': () => ended(`retry: 0\n\n${block(7)}`),
  } satisfies Record<string, (nr: number) => Response>

  test.each(Object.entries(kinds))(
    'and %s is dialled at most 10 times in the first 10 s',
    async (_, answer) => {
      for (const seed of [1, 2, 3, 4, 5]) {
        const world = new World(dial => answer(dial.nr), seed)
        const consumer = world.stream().run()
        await world.pass(10_000)
        expect(world.dials.length).toBeLessThanOrEqual(10)
        expect(world.dials.length).toBeGreaterThan(3)
        await consumer.stream.close()
      }
    },
  )

  test.each([
    'greets and breaks',
    'greets with a comment and breaks',
    'primes with an id and breaks',
    'opens and ends',
    'opens and breaks',
    'replays its last event each time and ends',
  ] as const)(
    'and %s has the breaker open within a minute, and is dialled at most 40 times an hour',
    async kind => {
      const world = new World(dial => kinds[kind](dial.nr))
      const consumer = world.stream().run()
      await world.pass(60_000)
      expect(consumer.tellings('circuit')[0]).toMatchObject({ state: 'open', failures: 6 })
      await world.pass(HOUR - 60_000)
      expect(world.dials.length).toBeLessThanOrEqual(40)
      expect(consumer.over).toBe(false)
    },
  )

  test('and loses nothing while it brings one event with each connection', async () => {
    const world = new World(dial => ended(`retry: 0\n\n${block(dial.nr)}`))
    const consumer = world.stream().run()
    await world.pass(60_000)
    expect(consumer.data).toEqual(world.dials.slice(0, consumer.data.length).map(({ nr }) => `data ${nr}`))
    expect(world.lastEventIds.slice(0, 4)).toEqual([null, '1', '2', '3'])
    expect(consumer.tellings('circuit')).toEqual([])
    expect(Math.min(...world.gaps)).toBeGreaterThanOrEqual(1_000)
  })

  test('and ends on purpose is polled as promptly as it asks, by a client that takes its retry field as exact', async () => {
    const world = new World(dial => ended(`retry: 100\n\n${block(dial.nr)}`))
    const consumer = world.stream({ backoff: { retry: 'exact' } }).run()
    await world.pass(10_000)
    expect(Math.min(...world.gaps)).toBeGreaterThanOrEqual(100)
    expect(Math.max(...world.gaps)).toBeLessThanOrEqual(200)
    await consumer.stream.close()
  })

  test('and ends after data without ids is asked once a second at most, whatever its retry field says', async () => {
    for (const retry of ['', 'retry: 0\n\n', 'retry: 150\n\n', 'retry: 900\n\n']) {
      const world = new World(() => ended(`${retry}data: x\n\n`))
      const consumer = world.stream().run()
      await world.pass(20_000)
      expect(Math.min(...world.gaps)).toBeGreaterThanOrEqual(1_000)
      expect(consumer.stream.stats().backoff.failures).toBe(0)
      await consumer.stream.close()
    }
  })

  test('has the breaker probe once per cooldown, and close on the first new event', async () => {
    const world = new World(dial => (dial.nr <= 8 ? broken('retry: 0\n: hello\n\n') : open(block(1))))
    const consumer = world.stream().run()
    await world.pass(350_000)
    expect(consumer.tellings('circuit').map(({ state }) => state)).toEqual([
      'open',
      'half-open',
      'open',
      'half-open',
      'open',
      'half-open',
      'closed',
    ])
    expect(world.gaps[5]).toBeGreaterThanOrEqual(30_000)
    expect(world.gaps[5]).toBeLessThanOrEqual(45_100)
    expect(world.gaps[6]).toBeGreaterThanOrEqual(60_000)
    expect(world.gaps[6]).toBeLessThanOrEqual(90_100)
    expect(world.gaps[7]).toBeGreaterThanOrEqual(120_000)
    expect(consumer.data).toEqual(['data 1'])
  })
})

describe('`retry:` and its extremes', () => {
  test.each([
    ['99999999999', 3_600_000],
    ['9'.repeat(400), 3_600_000],
  ])('%s does not become a hot loop: nothing is dialled for an hour', async (retry, floor) => {
    const world = new World([() => ended(`retry: ${retry}\n\n${block(1)}`), () => open()])
    world.stream().run()
    await world.pass(floor - 1)
    expect(world.dials).toHaveLength(1)
    await world.pass(floor + 2)
    expect(world.dials).toHaveLength(2)
  })

  test.each(['retry: 1000x', 'retry:', 'retry: -1', 'retry: 1.5'])('%s is ignored', async field => {
    const world = new World([() => broken(`${field}\n\n${block(1)}`), () => open()])
    const consumer = world.stream().run()
    await world.pass(1_000)
    expect(world.dials).toHaveLength(2)
    expect(consumer.tellings('wait')[0]).toMatchObject({ reason: 'backoff' })
  })

  test('3000 holds for the rest of the stream', async () => {
    const world = new World(dial => broken(dial.nr === 1 ? `retry: 03000\n\n${block(1)}` : block(dial.nr)))
    const consumer = world.stream().run()
    await world.pass(60_000)
    expect(Math.min(...world.gaps)).toBeGreaterThanOrEqual(3_000)
    expect(Math.max(...world.gaps)).toBeLessThanOrEqual(6_100)
    expect(consumer.tellings('wait')[3]).toMatchObject({ reason: 'retry' })
  })
})

describe('Retry-After', () => {
  test.each([
    ['seconds', '20'],
    ['a date', new Date(Date.UTC(2026, 0, 31) + 20_000).toUTCString()],
  ])('in %s is a floor, and is jittered upwards', async (_, value) => {
    const world = new World([() => status(429, { 'retry-after': value }), () => open()])
    const consumer = world.stream().run()
    await world.pass(120_000)
    expect(world.dials).toHaveLength(2)
    expect(world.gaps[0]).toBeGreaterThanOrEqual(20_000)
    expect(world.gaps[0]).toBeLessThanOrEqual(40_000)
    expect(consumer.tellings('wait')[0]).toMatchObject({ reason: 'retry-after' })
    expect(consumer.tellings('drop')[0]?.error).toMatchObject({ retryAfterMs: 20_000 })
  })

  test('counts for one wait only', async () => {
    const world = new World([() => status(503, { 'retry-after': '60' }), () => status(503), () => open()])
    world.stream().run()
    await world.pass(200_000)
    expect(world.gaps[0]).toBeGreaterThanOrEqual(60_000)
    expect(world.gaps[1]).toBeLessThanOrEqual(1_000)
  })

  test('of a hundred hours is an hour', async () => {
    const world = new World([() => status(503, { 'retry-after': '360000' }), () => open()])
    world.stream().run()
    await world.pass(2 * HOUR + 1)
    expect(world.gaps[0]).toBeGreaterThanOrEqual(HOUR)
  })
})

describe('isRetryable', () => {
  test('may dial a 404 again, and then it counts for the breaker', async () => {
    const world = new World(() => status(404))
    const consumer = world.stream({ isRetryable: () => true, breaker: { onOpen: 'wait' } }).run()
    await world.pass(HOUR)
    expect(consumer.tellings('circuit')[0]).toMatchObject({ state: 'open', failures: 6 })
    expect(world.dials.length).toBeLessThanOrEqual(40)
    expect(consumer.over).toBe(false)
  })

  test('is told the failure that it judges as one of the failures', async () => {
    const seen: number[] = []
    const world = new World([() => status(503), () => status(503), () => open()])
    world.stream({ isRetryable: (_, { failures }) => void seen.push(failures) as undefined }).run()
    await world.pass(10_000)
    expect(seen).toEqual([1, 2])
  })

  test('that returns a promise is refused: it would always be true', async () => {
    const world = new World(() => status(503))
    const consumer = world.stream({ isRetryable: (async () => false) as unknown as () => boolean }).run()
    await world.pass(1_000)
    expect(consumer.error).toMatchObject({
      code: 'ERR_SSE_OPTION',
      message: expect.stringMatching(/^isRetryable: .*promise/),
    })
    expect(world.dials.length).toBe(1)
  })
})
