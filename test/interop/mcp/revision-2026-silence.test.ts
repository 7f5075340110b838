import { describe, expect, test } from 'vitest'
import { sleep, until } from './clients.ts'
import type { Leg } from './fault-server.ts'
import { both, done, HUNG, idsOf, lost, start, streamed } from './revision-2026.ts'

// 2026-07-28: to close the stream of a call is to cancel it. In real time: what is known of heartbeats is judged after
// 30 s at the earliest.

const PATIENCE_MS = 30_000
const TEST_MS = 55_000

/** Heartbeats that stop, on a connection that stays. */
const dead: Leg = async out => {
  for (let beat = 0; beat < 3; beat++) {
    out.comment()
    await out.pause(50)
  }
}

/** Nothing at all for longer than that, then the result. */
const slow: Leg = async out => {
  out.open()
  await out.pause(PATIENCE_MS + 5_000)
  await done(out)
}

const call = { name: 'work', arguments: {} }

describe.concurrent('silence', () => {
  test('of a tool that never gave a sign of life is left alone', { timeout: TEST_MS }, async () => {
    const { server, client } = await start({ tools: { work: [slow] } })
    const { content } = await client.callTool(call)
    expect(content).toEqual([{ type: 'text', text: 'done' }])
    expect(server.of('tools/call')).toMatchObject([{ aborted: false }])
  })

  test('after heartbeats settles a call; the SDK alone hangs', { timeout: TEST_MS }, async () => {
    const { bare, ours } = await both({ tools: { work: [dead] } })
    const timeout = PATIENCE_MS + 10_000
    const hanging = bare.client.callTool(call, { timeout }).catch(error => error)
    const startedAt = performance.now()
    await expect(ours.client.callTool(call, { timeout })).rejects.toMatchObject(
      lost({ reason: 'not-resent', code: 'ERR_SSE_HEARTBEAT' }),
    )
    expect(performance.now() - startedAt).toBeGreaterThan(PATIENCE_MS - 1_500)
    await until(() => ours.server.of('tools/call')[0]?.aborted === true)
    expect(await hanging).toMatchObject(HUNG)
  })

  test('after heartbeats makes a read be done again', { timeout: TEST_MS }, async () => {
    const { server, client } = await start({ methods: { 'tools/list': [dead, streamed({ tools: [] })] } })
    expect(await client.listTools()).toMatchObject({ tools: [] })
    expect(server.of('tools/list')).toMatchObject([{ aborted: true }, { aborted: false }])
  })

  test('after heartbeats makes a subscription be entered again', { timeout: TEST_MS }, async () => {
    const acknowledged =
      (then: Leg): Leg =>
      async out => {
        const _meta = { 'io.modelcontextprotocol/subscriptionId': out.id }
        const params = { notifications: { toolsListChanged: true }, _meta }
        await then(out.message({ method: 'notifications/subscriptions/acknowledged', params }))
      }
    const legs = [acknowledged(dead), acknowledged(() => {})]
    const { server, client } = await start({ methods: { 'subscriptions/listen': legs } })
    let told = 0
    client.setNotificationHandler('notifications/tools/list_changed', () => void told++)
    await client.listen({ toolsListChanged: true })
    await sleep(PATIENCE_MS - 5_000)
    expect(idsOf(server, 'subscriptions/listen')).toHaveLength(1)
    await sleep(4_000)
    await until(() => told === 1)
    expect(idsOf(server, 'subscriptions/listen')).toHaveLength(2)
  })
})
