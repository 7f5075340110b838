import { ResilientSse } from 'resilient-sse'
import { answer, cut, FaultServer, replay, rest, send, silence, stay } from 'resilient-sse/testing'
import { expect, test } from 'vitest'
import { expectDials, FAST, idsOf, sleep, take, until } from './support.ts'

// Layer 1, which only a dead path can show, has its own in test/netns.

const numbered = (server: FaultServer, ...indices: number[]) => indices.map(index => server.log.idAt(index))

test('without layer 2 (heartbeat: false) a stream that went silent hangs; with it, it goes on', async () => {
  const silent = () => FaultServer.start({ log: { count: 2 }, script: [[send(1), silence()]] })
  await using with2 = await silent()
  expect(await take(new ResilientSse(with2.url, FAST), 2)).toHaveLength(2)
  expectDials(with2.requests, [undefined, with2.log.idAt(0)])

  await using without2 = await silent()
  const stream = new ResilientSse(without2.url, { ...FAST, heartbeat: false })
  const loop = take(stream, 2)
  await sleep(1_000)
  expect(stream.state).toBe('open')
  expectDials(without2.requests, [undefined])
  await stream.close()
  expect(await loop, 'it hung after the first event').toHaveLength(1)
})

test('without layer 3 (resume: false) a redial says nothing of what was seen, and a server that goes on live loses events', async () => {
  // The server sends live events only to a client that does not say where it was.
  const start = (second: 'rest' | 'fromNow') =>
    FaultServer.start({
      log: { count: 6 },
      script: [
        [send(3), cut()],
        [{ do: second }, { do: 'follow' }],
      ],
    })
  await using with3 = await start('rest')
  expect(idsOf(await take(new ResilientSse(with3.url, FAST), 6))).toEqual(numbered(with3, 0, 1, 2, 3, 4, 5))
  expectDials(with3.requests, [undefined, with3.log.idAt(2)])

  await using without3 = await start('fromNow')
  const ids: (string | undefined)[] = []
  const stream = new ResilientSse(without3.url, { ...FAST, resume: false })
  const loop = (async () => {
    for await (const { id } of stream) if (ids.push(id) === 4) break
  })()
  await until(() => without3.requests.length === 2, 'it has redialled')
  await sleep(20)
  without3.push({ id: 'live', data: 'live' })
  await loop
  expect(ids, 'events 3 to 5 are lost').toEqual([...numbered(without3, 0, 1, 2), 'live'])
  expectDials(without3.requests, [undefined, undefined])
})

test('without layer 4 (backoff and breaker: false) a server in trouble is stormed; with it, dials stay few', async () => {
  await using with4 = await FaultServer.start({ otherwise: [answer(503)] })
  const calm = new ResilientSse(with4.url, { breaker: { onOpen: 'wait' } })
  const calmLoop = take(calm, 1)
  await using without4 = await FaultServer.start({ otherwise: [answer(503)] })
  const storm = new ResilientSse(without4.url, { backoff: false, breaker: false })
  const stormLoop = take(storm, 1)
  await until(() => without4.requests.length >= 100, 'a storm of 100 dials')
  await Promise.all([calm.close(), storm.close()])
  await Promise.all([calmLoop, stormLoop])
  expect(with4.requests.length).toBeLessThanOrEqual(6)
  for (const { requests } of [with4, without4]) expectDials(requests, Array(requests.length).fill(undefined))
})

test('without layer 5 (dedupe: false) events that a server sends again are delivered twice; with it, once', async () => {
  const again = () =>
    FaultServer.start({
      log: { count: 6 },
      script: [
        [send(4), cut()],
        [replay({ overlap: 2 }), rest(), stay()],
      ],
    })
  await using with5 = await again()
  expect(idsOf(await take(new ResilientSse(with5.url, FAST), 6))).toEqual(numbered(with5, 0, 1, 2, 3, 4, 5))
  expectDials(with5.requests, [undefined, with5.log.idAt(3)])

  await using without5 = await again()
  const events = await take(new ResilientSse(without5.url, { ...FAST, dedupe: false }), 8)
  expect(idsOf(events), 'events 2 and 3 are doubled').toEqual(numbered(without5, 0, 1, 2, 3, 2, 3, 4, 5))
  expectDials(without5.requests, [undefined, without5.log.idAt(3)])
})
