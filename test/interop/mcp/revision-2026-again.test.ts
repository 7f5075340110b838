import { describe, expect, test } from 'vitest'
import { sleep, until } from './clients.ts'
import { type Leg, McpFaultServer } from './fault-server.ts'
import { broken, closing, complete, idsOf, json, lost, start, streamed } from './revision-2026.ts'

// 2026-07-28: a read was lost and is asked for again.

describe('what is answered the second time', () => {
  const text = (body: string, status: number, headers: Record<string, string> = {}): Leg => {
    return out => out.answer(status, body.replaceAll('$id', JSON.stringify(out.id)), headers)
  }
  const asJson = { 'content-type': 'application/json' }
  const unattributed = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}'
  const failure = { error: { code: -32_603, message: 'no such cursor' } }

  test.each<[what: string, again: Leg, outcome: object]>([
    ['a result in plain JSON', json({ result: complete({ tools: [] }) }), { tools: [] }],
    ['an error in plain JSON', json(failure), failure.error],
    [
      'an error with its HTTP status',
      json({ error: { code: -32_601, message: 'unknown' } }, 404),
      { code: -32_601 },
    ],
    ['an error of a server that has a fault', json(failure, 500), failure.error],
    ['400 without a word', text('', 400), lost({ reason: 'not-resumable', status: 400, attempts: 1 })],
    ['404, which is no lost session', text('', 404), lost({ reason: 'not-resumable', status: 404 })],
    [
      'an error that names no request',
      text(unattributed, 400, asJson),
      lost({ reason: 'not-resumable', status: 400 }),
    ],
    ['401', text('', 401), lost({ reason: 'unauthorized', status: 401 })],
    ['403', text('', 403), lost({ reason: 'unauthorized', status: 403 })],
    [
      'a redirect that asks for a GET',
      text('', 303, { location: '/mcp' }),
      lost({ reason: 'not-resumable', status: 303 }),
    ],
  ])('%s is the end of it', async (_, again, outcome) => {
    const { server, client, errors } = await start({ methods: { 'tools/list': [broken, again] } })
    expect(await client.listTools({}).catch(error => error)).toMatchObject(outcome)
    expect(idsOf(server, 'tools/list')).toHaveLength(2)
    expect(server.of('GET')).toEqual([])
    expect(errors).toEqual([])
  })

  test.each<[what: string, again: Leg]>([
    ['429', text('', 429)],
    ['503 with an error in it', json(failure, 503)],
    ['a page', text('<p>Soon.</p>', 200, { 'content-type': 'text/html' })],
    ['a redirect within the origin', text('', 307, { location: '/mcp' })],
    ['no answer at all', out => out.drop()],
  ])('%s is asked for once more', async (_, again) => {
    const legs = [broken, again, streamed({ tools: [] })]
    const { server, client, errors } = await start({ methods: { 'tools/list': legs } })
    expect(await client.listTools()).toMatchObject({ tools: [] })
    const [first, ...others] = idsOf(server, 'tools/list')
    expect(others).toEqual([`${first}~1`, `${first}~2`])
    expect(errors).toEqual([])
  })

  test('that leads to elsewhere is not followed: the credentials stay at home', async () => {
    const elsewhere = closing(await McpFaultServer.start({}))
    const { server, client } = await start({
      methods: { 'tools/list': [broken, text('', 307, { location: elsewhere.url.href })] },
    })
    await expect(client.listTools()).rejects.toMatchObject(lost({ reason: 'not-resumable', status: 307 }))
    expect([idsOf(server, 'tools/list').length, elsewhere.requests]).toEqual([2, []])
  })

  test('may take as long as the caller gives it', async () => {
    const late: Leg = async out => {
      await out.pause(500)
      await json({ result: complete({ tools: [] }) })(out)
    }
    const { server, client } = await start(
      { methods: { 'tools/list': [broken, late] } },
      { openTimeoutMs: 100 },
    )
    expect(await client.listTools()).toMatchObject({ tools: [] })
    expect(idsOf(server, 'tools/list')).toHaveLength(2)
  })

  test('is settled when it is lost again and again', async () => {
    const { server, client } = await start(
      { methods: { 'tools/list': [broken] } },
      { backoff: { baseMs: 10, maxMs: 20, maxAttempts: 3 } },
    )
    await expect(client.listTools()).rejects.toMatchObject(lost({ reason: 'exhausted', attempts: 3 }))
    expect(idsOf(server, 'tools/list')).toHaveLength(4)
  })
})

describe('a read that the caller cancels', () => {
  test('while it waits is not asked for again', async () => {
    const backoff = { baseMs: 400, maxMs: 400, jitter: 0 } as const
    const { server, client } = await start({ methods: { 'tools/list': [broken] } }, { backoff })
    const cancel = new AbortController()
    const reading = client.listTools({}, { signal: cancel.signal })
    await until(() => server.of('tools/list').length === 1 && server.busy === 0)
    cancel.abort()
    await expect(reading).rejects.toThrow()
    await sleep(700)
    expect(idsOf(server, 'tools/list')).toHaveLength(1)
  })

  test('closes the leg that it is on, and tells it by nothing else', async () => {
    const { server, client, errors } = await start({
      methods: { 'tools/list': [broken, out => void out.comment()] },
    })
    const cancel = new AbortController()
    const reading = client.listTools({}, { signal: cancel.signal })
    await until(() => server.of('tools/list').length === 2)
    cancel.abort()
    await expect(reading).rejects.toThrow()
    await until(() => server.of('tools/list')[1]?.aborted === true)
    expect(server.of('notifications/cancelled')).toEqual([])
    expect(errors).toEqual([])
  })
})
