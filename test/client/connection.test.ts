import { describe, expect, test } from 'vitest'
import { Body, block, broken, ended, expectNothingLeft, open, status, World } from './world.ts'

describe('openTimeoutMs', () => {
  const never = () => new Promise<Response>(() => {})

  test('is 30 s, doubles to 5 min once the request was sent, and does not count for the breaker', async () => {
    const world = new World(never)
    const consumer = world.stream().run()
    await world.pass(3_600_000)
    expect(consumer.over).toBe(false)
    expect(consumer.tellings('circuit')).toEqual([])
    const waits = consumer.tellings('wait').map(({ delayMs }) => delayMs)
    const limits = world.gaps.map((gap, index) => gap - (waits[index] as number))
    expect(limits.slice(0, 7).map(ms => Math.round(ms / 1_000))).toEqual([30, 60, 120, 240, 300, 300, 300])
    expect(consumer.tellings('drop')[0]?.error).toMatchObject({
      code: 'ERR_SSE_OPEN_TIMEOUT',
      retryable: true,
    })
  })

  test('covers url and headers functions, and then counts for the breaker', async () => {
    const world = new World(() => open())
    const consumer = world.stream({ openTimeoutMs: 1_000, headers: () => new Promise(() => {}) }).run()
    await world.pass(60_000)
    expect(world.dials).toHaveLength(0)
    expect(consumer.error).toMatchObject({ code: 'ERR_SSE_CIRCUIT_OPEN' })
    expect(consumer.tellings('drop').map(({ error }) => error.code)).toEqual(
      Array(6).fill('ERR_SSE_OPEN_TIMEOUT'),
    )
  })

  test('gives the request up', async () => {
    const world = new World(never)
    world.stream({ openTimeoutMs: 500 }).run()
    await world.pass(499)
    expect(world.dials[0]?.signal.aborted).toBe(false)
    await world.pass(2)
    expect(world.dials[0]?.signal.aborted).toBe(true)
  })
})

describe('maxConnectionMs', () => {
  test('rotates at 90 to 100 % of it, resumes, and counts no failure', async () => {
    const world = new World(dial => open(block(dial.nr)))
    const consumer = world.stream({ maxConnectionMs: 60_000 }).run()
    await world.pass(20 * 60_000)
    expect(world.dials.length).toBeGreaterThan(18)
    for (const gap of world.gaps) {
      expect(gap).toBeGreaterThanOrEqual(54_000)
      expect(gap).toBeLessThanOrEqual(60_050)
    }
    expect(Math.max(...world.gaps) - Math.min(...world.gaps)).toBeGreaterThan(2_000)
    expect(consumer.tellings('wait')).toEqual([])
    expect(consumer.tellings('drop')[0]).toMatchObject({
      reason: 'rotate',
      error: { code: 'ERR_SSE_ROTATED' },
    })
    expect(world.lastEventIds.slice(0, 3)).toEqual([null, '1', '2'])
    expect(consumer.stream.stats().backoff.failures).toBe(0)
  })
})

describe('heartbeat', () => {
  test('a silent stream is dead after 120 s, and is dialled again with its id', async () => {
    const world = new World([() => open(block(1)), () => open(block(2))])
    const consumer = world.stream().run()
    await world.pass(119_000)
    expect(world.dials).toHaveLength(1)
    await world.pass(3_000)
    expect(consumer.data).toEqual(['data 1', 'data 2'])
    expect(world.lastEventIds).toEqual([null, '1'])
    expect(consumer.tellings('stall')).toMatchObject([{ phase: 'dead' }])
    expect(consumer.tellings('drop')[0]).toMatchObject({ reason: 'silence' })
  })

  test('a server that comments only when idle is not taken for a slow one after busy times', async () => {
    const body = new Body().send(': hb\n\n')
    const world = new World(() => body.response())
    const consumer = world.stream().run()
    for (let minute = 1; minute <= 10; minute++) {
      await world.pass(60_000)
      body.send(block(minute))
    }
    await world.pass(10)
    body.send(': hb\n\n')
    await world.settle()
    expect(consumer.stream.stats().heartbeat.timeoutMs).toBe(120_000)
    expect(world.dials).toHaveLength(1)
  })

  test('a server that comments every 90 s while idle is given 180 s', async () => {
    const body = new Body().send(': hb\n\n')
    const world = new World(() => body.response())
    const consumer = world.stream().run()
    await world.pass(90_000)
    body.send(': hb\n\n')
    await world.settle()
    expect(consumer.stream.stats().heartbeat.timeoutMs).toBe(180_000)
  })

  test('the gap between the comments of two connections is none', async () => {
    const comments = ': hb\n\n'
    const world = new World([() => broken(comments), () => open(comments)])
    const consumer = world.stream({ backoff: { baseMs: 200_000, maxMs: 200_000, jitter: 0 } }).run()
    await world.pass(250_000)
    expect(consumer.stream.stats().heartbeat).toMatchObject({ comments: 2, timeoutMs: 120_000 })
  })

  test('a consumer that works for ten minutes on one event kills nothing', async () => {
    const body = new Body().send(block(1))
    const world = new World(() => body.response())
    const consumer = world
      .stream({ heartbeat: { timeoutMs: 1_000 } })
      .run(() => new Promise(resolve => setTimeout(resolve, 600_000)))
    await world.pass(600_500)
    expect(consumer.tellings('stall')).toEqual([])
    expect(world.dials).toHaveLength(1)
    await world.pass(2_000)
    expect(consumer.tellings('stall')).toMatchObject([{ phase: 'dead' }])
  })

  test('a death brings back no failures of a connection that brought an event after it was forgiven for its age', async () => {
    const body = new Body()
    const world = new World([() => status(503), () => body.response(), () => open()])
    const consumer = world.stream().run()
    await world.pass(15_000)
    body.send(': age\n\n')
    await world.settle()
    body.send(block(1))
    await world.pass(200_000)
    expect(consumer.tellings('drop').map(({ reason }) => reason)).toEqual(['refused', 'silence'])
    expect(consumer.tellings('wait').map(({ failures }) => failures)).toEqual([1, 1])
  })

  test('a death brings back the failures that age alone had forgiven', async () => {
    // Lives long enough to be forgiven for its bytes, then goes silent: five times over.
    const world = new World(() => {
      const body = new Body()
      setTimeout(() => body.send(': alive\n\n'), 11_000)
      return body.response()
    })
    const consumer = world.stream({ heartbeat: { timeoutMs: 20_000 } }).run()
    await world.pass(150_000)
    expect(consumer.tellings('wait').map(({ failures }) => failures)).toEqual([1, 2, 3, 4])
  })

  test('switched off, silence is never noticed', async () => {
    const world = new World(() => open(block(1)))
    const consumer = world.stream({ heartbeat: false }).run()
    await world.pass(3_600_000)
    expect(consumer.tellings('drop')).toEqual([])
    // Nor looked for.
    expectNothingLeft()
  })
})

describe('proof of health', () => {
  test('bytes that come ten seconds after the open reset the count, sooner they do not', async () => {
    for (const [after, failures] of [
      [9_000, 4],
      [10_500, 1],
    ] as const) {
      const world = new World(({ nr }) => {
        if (nr <= 3) return status(503)
        const body = new Body()
        setTimeout(() => body.send(': bytes\n\n'), after)
        setTimeout(() => body.break(), after + 100)
        return body.response()
      })
      const consumer = world.stream().run()
      await world.pass(11_000 + after)
      const drop = consumer.tellings('drop')[3]
      expect(drop).toMatchObject({ opened: true })
      const wait = consumer.tellings('wait')[3]
      expect(wait).toMatchObject({ failures })
      await consumer.stream.close()
    }
  })

  test('an event with a new id resets it at once, a 200 and a priming event do not', async () => {
    const failures = async (text: string) => {
      const world = new World([() => status(503), () => status(503), () => broken(text), () => open()])
      const consumer = world.stream().run()
      await world.pass(20_000)
      await consumer.stream.close()
      return consumer.tellings('wait')[2]?.failures
    }
    expect(await failures(block(1))).toBe(1)
    expect(await failures('')).toBe(3)
    expect(await failures(': hello\n\n')).toBe(3)
    expect(await failures('id: 7\ndata:\n\n')).toBe(3)
    expect(await failures('id: 7\n\n')).toBe(3)
    expect(await failures('data: hello\n\n')).toBe(3)
  })
})

describe('reconnectOnEnd: false', () => {
  test('lets a clean end end the loop', async () => {
    const world = new World(() => ended(block(1)))
    const consumer = world.stream({ reconnectOnEnd: false }).run()
    await world.pass(60_000)
    expect([consumer.data, consumer.over, consumer.error]).toEqual([['data 1'], true, undefined])
    expect(world.dials).toHaveLength(1)
  })

  test('dials again after a break all the same', async () => {
    const world = new World([() => broken(block(1)), () => ended(block(2))])
    const consumer = world.stream({ reconnectOnEnd: false }).run()
    await world.pass(60_000)
    expect([consumer.data, consumer.over]).toEqual([['data 1', 'data 2'], true])
  })
})

describe('reconnect()', () => {
  test('gives up the connection and resumes at once', async () => {
    const world = new World([() => open(block(1)), () => open(block(2))])
    const consumer = world.stream().run()
    await world.settle()
    consumer.stream.reconnect()
    await world.settle()
    expect(consumer.data).toEqual(['data 1', 'data 2'])
    expect(world.dials.map(({ at }) => at)).toEqual([0, 0])
    expect(world.lastEventIds).toEqual([null, '1'])
    expect(world.dials[0]?.signal.aborted).toBe(true)
    expect(consumer.tellings('drop')[0]?.error.message).toBe(
      'The connection was given up: reconnect() was called',
    )
  })

  test('cuts a wait short', async () => {
    const world = new World([() => status(503, { 'retry-after': '600' }), () => open(block(1))])
    const consumer = world.stream().run()
    await world.pass(1_000)
    expect(consumer.stream.state).toBe('waiting')
    consumer.stream.reconnect()
    await world.settle()
    expect(consumer.data).toEqual(['data 1'])
    expect(world.dials[1]?.at).toBe(1_000)
  })

  test('goes through an open breaker, once', async () => {
    const world = new World(() => status(503))
    const consumer = world.stream({ breaker: { onOpen: 'wait', threshold: 2 } }).run()
    await world.pass(10_000)
    const before = world.dials.length
    consumer.stream.reconnect()
    await world.settle()
    expect(world.dials).toHaveLength(before + 1)
    await world.pass(20_000)
    expect(world.dials).toHaveLength(before + 1)
  })

  test('before the first pull and after the end does nothing', async () => {
    const world = new World(() => open())
    const consumer = world.stream()
    consumer.stream.reconnect()
    await world.settle()
    expect([consumer.stream.state, world.dials.length]).toEqual(['idle', 0])
    await consumer.stream.close()
    consumer.stream.reconnect()
    await world.settle()
    expect(world.dials).toHaveLength(0)
  })
})
