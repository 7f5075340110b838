import { ResilientSse } from 'resilient-sse'
import { type ChaosFault, chaosRelay, FaultServer, follow } from 'resilient-sse/testing'
import { expect, test } from 'vitest'
import { builtTesting, dataOf, expectDials, FAST, take, until, Witness } from './support.ts'

const COUNT = 2_000

/** What ends a connection, dealt to each of them. */
const ENDS: readonly ChaosFault[] = [
  { do: 'reset', afterBytes: [1_000, 45_000] },
  { do: 'reset', inside: 'event', afterBytes: [1_000, 45_000] },
  { do: 'cut', afterBytes: [1_000, 45_000] },
  { do: 'cut', inside: 'event', afterBytes: [1_000, 45_000] },
  { do: 'stall', afterBytes: [1_000, 45_000] },
  { do: 'blackhole', ms: 60, bytes: 'drop', afterBytes: [1_000, 45_000] },
  { do: 'refuse', ms: 60, afterBytes: [1_000, 45_000] },
]
/** What only hampers it, dealt by a second relay behind the first. */
const HAMPERS: readonly ChaosFault[] = [
  { do: 'delay', ms: [1, 15], afterBytes: [0, 5_000] },
  { do: 'drip', bytes: [500, 2_000], everyMs: 2, afterBytes: [0, 10_000] },
  { do: 'blackhole', ms: 60, afterBytes: [0, 20_000] },
  { do: 'stall', ms: 60, afterBytes: [0, 20_000] },
]

test('2,000 events come once and in order through every kind of chaos', async () => {
  const seed = 1

  await using server = await FaultServer.start({
    log: { count: COUNT, ids: 'uuid', bytes: [50, 300], seed },
    otherwise: [follow()],
  })
  await using behind = await chaosRelay({ target: server.url, faults: HAMPERS, seed })
  await using relay = await chaosRelay({ target: behind.url, faults: ENDS, seed })
  const witness = new Witness()
  const stream = new ResilientSse(relay.url, {
    ...FAST,
    heartbeat: { timeoutMs: 400 },
    breaker: false,
    onLifecycle: witness.onLifecycle,
  })

  const events = await take(stream, COUNT)
  expect(dataOf(events)).toEqual(Array.from({ length: COUNT }, (_, index) => server.log.at(index).data))
  expect(witness.of('gap')).toEqual([])
  expect(witness.of('duplicate')).toEqual([])

  // Each dial is accounted for: one that was refused, or one that reached the relay, and through it the server.
  const drops = witness.of('drop')
  const refused = drops.filter(({ opened }) => !opened)
  const dials = witness.of('dial')
  expect(dials).toHaveLength(relay.connections.length + refused.length)
  await until(() => relay.openConnections === 0, 'the last connection is closed')
  const reached = witness.of('open').length
  expectDials(
    server.requests,
    dials
      .filter((_, index) => dials[index + 1]?.attempt === 1 || index === dials.length - 1)
      .map(d => d.lastEventId),
  )
  expect(server.requests).toHaveLength(reached)
  // No connection was struck twice, each that was struck is lost, and nearly all were lost to what had been dealt to them:
  // on a busy machine the watchdog may come first.
  const struck = relay.faults.map(({ connection }) => connection ?? -1)
  const lost = drops.length - refused.length
  expect(new Set(struck).size).toBe(struck.length)
  expect(Math.max(...struck)).toBeLessThan(lost)
  expect(struck.length).toBeGreaterThan(lost / 2)
  expect(new Set(relay.faults.map(({ fault }) => fault)).size).toBeGreaterThan(3)
  expect(new Set(behind.faults.map(({ fault }) => fault)).size).toBe(HAMPERS.length)
})

test('a relay in a process of its own is told to strike, and the stream goes on where it was', async () => {
  await using server = await FaultServer.start({ log: { count: 30, ids: 'decimal' }, otherwise: [follow()] })
  await using relay = await chaosRelay.spawn({ target: server.url, modulePath: builtTesting() })
  const stream = new ResilientSse(relay.url, FAST)
  const ids: (string | undefined)[] = []
  for await (const { id } of stream) {
    ids.push(id)
    if (id === '30') {
      expect(await relay.strike('reset')).toBe(1)
      server.push({ id: '31', data: 'after the reset' })
    }
    if (id === '31') break
  }
  expect(ids).toEqual(Array.from({ length: 31 }, (_, index) => String(index + 1)))
  expectDials(server.requests, [undefined, '30'])
  expect((await relay.faults()).map(({ fault, by, connection }) => [fault, by, connection])).toEqual([
    ['reset', 'order', 0],
  ])
})
