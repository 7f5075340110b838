import { afterEach, describe, expect, test } from 'vitest'
import { connect, type Line, sleep, until, wrapped } from './clients.ts'
import { type Leg, McpFaultServer } from './fault-server.ts'

// A token that expires while a call is between two legs: only the SDK can get another one.

const LINES: Line[] = ['v1', 'v2']
const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

/** Resumes need the token that was issued last; other requests may use any. */
const resumeWith =
  (token: string): Leg =>
  out => {
    if (out.seen.headers.authorization !== `Bearer ${token}`) out.answer(401)
    else out.log('two', 'work/2').result('done', 'work/3').end()
  }

describe.each(LINES)('%s: credentials that expire between two legs', line => {
  test('are fetched by the SDK, which then resumes itself', async () => {
    const server = await McpFaultServer.start({
      tools: {
        work: [
          out => {
            token.now = 'new'
            out.log('one', 'work/1').end()
          },
          resumeWith('new'),
        ],
      },
    })
    open.push(server)
    const token = { now: 'old' }
    const client = await connect(line, server.url, { ...wrapped(), token: () => token.now })
    open.push(client)
    expect(await client.call('work', { timeout: 10_000 })).toBe('done')
    expect(client.logs).toEqual(['one', 'two'])
    const resumes = server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined)
    expect(resumes.map(({ headers }) => [headers['last-event-id'], headers.authorization])).toEqual([
      ['work/1', 'Bearer old'],
      ['work/1', 'Bearer new'],
    ])
    expect(server.of('tools/call')).toHaveLength(1)
    expect(client.errors).toEqual([])
  })

  test('that nobody can fetch settle the call', async () => {
    const server = await McpFaultServer.start({
      tools: { work: [out => out.log('one', 'work/1').end(), resumeWith('never')] },
    })
    open.push(server)
    const client = await connect(line, server.url, wrapped())
    open.push(client)
    await expect(client.call('work', { timeout: 15_000 })).rejects.toMatchObject({
      code: -32_000,
      data: { sent: 'unknown', reason: 'unauthorized', lastEventId: 'work/1', status: 401 },
    })
    expect(server.of('tools/call')).toHaveLength(1)
  })

  test('are not fetched for a call that was cancelled meanwhile', async () => {
    const server = await McpFaultServer.start({
      tools: { work: [out => out.log('one', 'work/1').end(), resumeWith('never')] },
    })
    open.push(server)
    const client = await connect(line, server.url, wrapped())
    open.push(client)
    const cancel = new AbortController()
    const call = client.call('work', { signal: cancel.signal })
    call.catch(() => {})
    const resumes = () => server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined)
    await until(() => resumes().length === 1)
    await sleep(50)
    cancel.abort(new Error('no longer wanted'))
    await expect(call).rejects.toThrow()
    await sleep(1_500)
    expect(resumes()).toHaveLength(1)
  })
})

test('v2: a token that the SDK fetches only when it is refused itself serves its next resume', async () => {
  const server = await McpFaultServer.start({
    tools: { work: [out => out.log('one', 'work/1').end(), resumeWith('new')] },
  })
  open.push(server)
  let token = 'old'
  const client = await connect('v2', server.url, {
    ...wrapped(),
    token: () => token,
    onUnauthorized: () => {
      token = 'new'
    },
  })
  open.push(client)
  expect(await client.call('work', { timeout: 15_000 })).toBe('done')
  const resumes = server.requests.filter(({ headers }) => headers['last-event-id'] !== undefined)
  // What was refused once is not sent again.
  expect(resumes.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new'])
  expect(server.of('tools/call')).toHaveLength(1)
})
