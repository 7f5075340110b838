import type { McpSubscription } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { sleep, until } from './clients.ts'
import type { Leg, LegWriter } from './fault-server.ts'
import { both, type Connected, changed, idsOf, json, start } from './revision-2026.ts'

// 2026-07-28: what a server says on its own account comes by subscriptions/listen, and nothing of it is replayed.

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const LISTEN = 'subscriptions/listen'
const TOOLS = { toolsListChanged: true }

const acknowledged = (out: LegWriter, notifications: object = TOOLS) =>
  out.message({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications, _meta: { [SUBSCRIPTION]: out.id } },
  })
const breaking =
  (notifications: object = TOOLS): Leg =>
  out =>
    acknowledged(out, notifications).reset()
const staying =
  (notifications: object = TOOLS): Leg =>
  out =>
    void acknowledged(out, notifications)
const ending: Leg = out =>
  acknowledged(out)
    .message({ id: out.id, result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: out.id } } })
    .end()

const listening = (...legs: Leg[]) => ({ methods: { [LISTEN]: legs } })

/** What the host is told, with the subscription that it is told of. */
function heard({ client }: Connected): string[] {
  const told: string[] = []
  for (const list of ['tools', 'prompts', 'resources'] as const)
    client.setNotificationHandler(`notifications/${list}/list_changed`, ({ params }) => {
      told.push(`${list} ${params?._meta?.[SUBSCRIPTION]}`)
    })
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    told.push(`${params.uri} ${params._meta?.[SUBSCRIPTION]}`)
  })
  return told
}

const isClosed = async (subscription: McpSubscription) =>
  Promise.race([subscription.closed, sleep(200).then(() => 'open')])

describe('a subscription whose stream breaks', () => {
  test('is entered again, and the host told that lists may have changed; with the SDK alone it is over', async () => {
    const { bare, ours } = await both(listening(breaking(), out => void changed(acknowledged(out), 'tools')))
    const over = await bare.client.listen(TOOLS)
    expect(await over.closed).toBe('remote')
    expect(idsOf(bare.server, LISTEN)).toHaveLength(1)

    const told = heard(ours)
    const subscription = await ours.client.listen(TOOLS)
    await until(() => told.length === 2)
    // Once for what may have been missed, once for the server's own; both under the id that the host knows.
    expect(told).toEqual(['tools listen:0', 'tools listen:0'])
    expect(idsOf(ours.server, LISTEN)).toEqual(['listen:0', 'listen:0~1'])
    expect(await isClosed(subscription)).toBe('open')
    expect(ours.errors).toEqual([])
  })

  test('is entered again for as long as it takes', async () => {
    const away: Leg[] = Array.from({ length: 12 }, (_, leg) =>
      leg % 2 ? out => out.drop() : out => out.answer(503),
    )
    const { server, client } = await start(listening(breaking(), ...away, staying()), { breaker: false })
    const subscription = await client.listen(TOOLS)
    await until(() => server.of(LISTEN).length === away.length + 2)
    expect(await isClosed(subscription)).toBe('open')
  })

  test('tells each list and each resource that it is about, and no other', async () => {
    const filter = { ...TOOLS, promptsListChanged: true, resourceSubscriptions: ['memo://1', 'memo://2'] }
    const connected = await start(listening(breaking(filter), staying(filter)))
    const told = heard(connected)
    await connected.client.listen(filter)
    await until(() => told.length === 4)
    const id = 'listen:0'
    expect(told).toEqual([`tools ${id}`, `prompts ${id}`, `memo://1 ${id}`, `memo://2 ${id}`])
  })

  test('is told to the listener of lifecycle events', async () => {
    const told: string[] = []
    const { client, server } = await start(listening(breaking(), staying()), {
      onLifecycle: (event, stream) => void told.push(`${event.type} ${stream.kind} ${stream.methods}`),
    })
    await client.listen(TOOLS)
    await until(() => server.of(LISTEN).length === 2)
    await until(() => told.includes(`gap standalone ${LISTEN}`))
  })

  test('is not mistaken for a replay by a server that numbers each stream from 1', async () => {
    const numbered =
      (last: (out: LegWriter) => void): Leg =>
      out => {
        const params = { notifications: TOOLS, _meta: { [SUBSCRIPTION]: out.id } }
        out.message({ method: 'notifications/subscriptions/acknowledged', params }, '1')
        // Without a stamp, these are the same on each stream.
        for (const id of ['2', '3']) out.message({ method: 'notifications/tools/list_changed' }, id)
        last(out)
      }
    const gaps: string[] = []
    const connected = await start(
      listening(
        numbered(out => out.reset()),
        numbered(() => {}),
      ),
      { onLifecycle: event => void (event.type === 'gap' && gaps.push(event.reason)) },
    )
    const told = heard(connected)
    await connected.client.listen(TOOLS)
    await until(() => told.length >= 5)
    expect(told).toHaveLength(5)
    expect(gaps).toEqual(['no-cursor'])
    expect(connected.server.requests.filter(({ headers }) => 'last-event-id' in headers)).toEqual([])
  })
})

describe('a subscription that comes back different', () => {
  test.each<[how: string, agreed: object, honoured: object]>([
    ['without a list', { ...TOOLS, promptsListChanged: true }, { promptsListChanged: true }],
    [
      'without a resource',
      { resourceSubscriptions: ['memo://1', 'memo://2'] },
      { resourceSubscriptions: ['memo://2'] },
    ],
    ['with nothing', TOOLS, {}],
  ])('%s is over for the host, which was promised more', async (_, agreed, honoured) => {
    const connected = await start(listening(breaking(agreed), staying(honoured)))
    const told = heard(connected)
    const subscription = await connected.client.listen(agreed)
    expect(await subscription.closed).toBe('remote')
    // It learns that all of it may have changed: caches are dropped.
    expect(told).toHaveLength(2 - Number(agreed === TOOLS))
    await until(() => connected.server.busy === 0)
    await sleep(200)
    expect(idsOf(connected.server, LISTEN)).toHaveLength(2)
    expect(connected.errors).toEqual([])
  })

  test('with more goes on', async () => {
    const connected = await start(listening(breaking(), staying({ ...TOOLS, promptsListChanged: true })))
    const told = heard(connected)
    const subscription = await connected.client.listen(TOOLS)
    await until(() => told.length === 1)
    expect(await isClosed(subscription)).toBe('open')
    expect(told).toEqual(['tools listen:0'])
  })
})

describe('a subscription ends', () => {
  test('when the server ends it, with the SDK alone as well', async () => {
    for (const { server, client, errors } of Object.values(await both(listening(ending)))) {
      const subscription = await client.listen(TOOLS)
      expect(await subscription.closed).toBe('graceful')
      await sleep(200)
      expect(idsOf(server, LISTEN)).toHaveLength(1)
      expect(errors).toEqual([])
    }
  })

  test('when the server ends it after it was entered again', async () => {
    const { server, client, errors } = await start(listening(breaking(), ending))
    const subscription = await client.listen(TOOLS)
    expect(await subscription.closed).toBe('graceful')
    await sleep(200)
    expect(idsOf(server, LISTEN)).toHaveLength(2)
    expect(errors).toEqual([])
  })

  test('when the server cancels it under the id that it knows', async () => {
    const cancelling: Leg = out =>
      void acknowledged(out).message({ method: 'notifications/cancelled', params: { requestId: out.id } })
    const { client } = await start(listening(breaking(), cancelling))
    const subscription = await client.listen(TOOLS)
    expect(await subscription.closed).toBe('remote')
  })

  test.each<[what: string, again: Leg]>([
    ['404 for an unknown method', json({ error: { code: -32_601, message: 'Method not found' } }, 404)],
    ['404 without a word', out => out.answer(404)],
    [
      'that it has too many of them',
      json({ error: { code: -32_603, message: 'Subscription limit reached' } }),
    ],
    ['that it does not speak this revision', json({ error: { code: -32_022, message: 'no' } }, 400)],
  ])('when the server says, entered again, %s', async (_, again) => {
    const { server, client, errors } = await start(listening(breaking(), again))
    const subscription = await client.listen(TOOLS)
    expect(await subscription.closed).toBe('remote')
    await sleep(200)
    expect(idsOf(server, LISTEN)).toHaveLength(2)
    expect(errors).toEqual([])
  })

  test('before it began on 404, with the SDK alone as well', async () => {
    const unknown = json({ error: { code: -32_601, message: 'Method not found' } }, 404)
    for (const { client, server } of Object.values(await both(listening(unknown)))) {
      await expect(client.listen(TOOLS)).rejects.toThrow('Method not found')
      expect(server.requests.filter(({ rpc }) => rpc !== LISTEN)).toHaveLength(1)
    }
  })

  test('when the host closes it: the stream is closed, and the server told by the id that it knows it by', async () => {
    const bare = await start(listening(staying()), 'bare')
    await (await bare.client.listen(TOOLS)).close()
    await until(() => bare.server.busy === 0)
    expect(bare.server.of(LISTEN)[0]?.aborted).toBe(true)
    expect(bare.server.of('notifications/cancelled')).toMatchObject([{ params: { requestId: 'listen:0' } }])

    const ours = await start(listening(breaking(), staying()))
    const subscription = await ours.client.listen(TOOLS)
    await until(() => ours.server.of(LISTEN).length === 2)
    await sleep(50)
    await subscription.close()
    expect(ours.server.of('notifications/cancelled')).toMatchObject([{ params: { requestId: 'listen:0~1' } }])
    await until(() => ours.server.busy === 0)
    expect(ours.server.of(LISTEN)[1]?.aborted).toBe(true)
    await sleep(200)
    expect(idsOf(ours.server, LISTEN)).toHaveLength(2)
  })
})
