import { afterEach, describe, expect, test } from 'vitest'
import { connect, type Line, sleep, until, wrapped } from './clients.ts'
import { type Leg, McpFaultServer, type McpScript } from './fault-server.ts'

// Answers that come on another stream than that of their call: there are servers that replay on one stream what belongs to all.

const LINES: Line[] = ['v1', 'v2']
const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

/** A server that says something on its standalone stream when it opens, and that was heard. */
async function start(line: Line, script: (server: () => McpFaultServer) => McpScript) {
  const server: McpFaultServer = await McpFaultServer.start(script(() => server))
  open.push(server)
  const client = await connect(line, server.url, wrapped())
  open.push(client)
  const cursors = () => server.of('GET').map(({ headers }) => headers['last-event-id'])
  return { server, client, cursors }
}

const called = (server: McpFaultServer, tool: string) => server.requests.find(seen => seen.tool === tool)
const answer = (server: McpFaultServer, tool: string, text: string) => ({
  id: called(server, tool)?.id,
  result: { content: [{ type: 'text', text }] },
})

describe.each(LINES)('%s: an answer', line => {
  test('that was heard is not told again by the standalone stream', async () => {
    const { client } = await start(line, server => ({
      tools: { work: [out => out.result('done', 'work/1').end()] },
      standalone: [
        async out => {
          out.log('one', 'a/1')
          await until(() => called(server(), 'work') !== undefined)
          out.reset()
        },
        out => void out.message(answer(server(), 'work', 'done'), 'work/1').log('two', 'a/2'),
      ],
    }))
    await until(() => client.logs.length === 1)
    expect(await client.call('work')).toBe('done')
    await until(() => client.logs.length === 2)
    expect(client.logs).toEqual(['one', 'two'])
    expect(client.errors).toEqual([])
  })

  test('that was heard is not followed by a replay of its progress or its priming event', async () => {
    const { client } = await start(line, server => ({
      tools: { work: [out => out.result('done', 'work/1').end()] },
      standalone: [
        async out => {
          out.log('one', 'a/1')
          await until(() => called(server(), 'work') !== undefined)
          out.reset()
        },
        out => {
          const progressToken = called(server(), 'work')?.id
          out.raw('id: work/0\ndata: {}\n\n')
          out.message({ method: 'notifications/progress', params: { progressToken, progress: 1 } }, 'work/2')
          out.log('two', 'a/2')
        },
      ],
    }))
    await until(() => client.logs.length === 1)
    expect(await client.call('work')).toBe('done')
    await until(() => client.logs.length === 2)
    expect(client.errors).toEqual([])
  })

  test('that was heard is not told again by the stream of another call', async () => {
    const { client } = await start(line, server => ({
      tools: {
        quick: [out => out.result('quick', 'quick/1').end()],
        slow: [
          out => out.prime('slow/1', 100).end(),
          out =>
            out
              .message(answer(server(), 'quick', 'quick'), 'quick/1')
              .result('slow', 'slow/2')
              .end(),
        ],
      },
    }))
    const slow = client.call('slow')
    expect(await client.call('quick')).toBe('quick')
    expect(await slow).toBe('slow')
    expect(client.errors).toEqual([])
  })

  test('on the standalone stream ends the wait of its call, whose own stream is not asked for any more', async () => {
    const { client, cursors } = await start(line, server => ({
      tools: { work: [out => out.prime('work/1', 300).end(), out => out.result('again', 'work/2').end()] },
      standalone: [
        async out => {
          out.log('one', 'a/1')
          await until(() => called(server(), 'work') !== undefined)
          out.message(answer(server(), 'work', 'done'), 'a/2')
        },
      ],
    }))
    await until(() => client.logs.length === 1)
    expect(await client.call('work')).toBe('done')
    await sleep(600)
    expect(cursors()).toEqual([undefined])
    expect(client.errors).toEqual([])
  })

  test('to a call that has no stream is passed on', async () => {
    const { client } = await start(line, server => ({
      tools: { work: [out => out.answer(202)] },
      standalone: [
        async out => {
          out.log('one', 'a/1')
          await until(() => called(server(), 'work') !== undefined)
          out.message(answer(server(), 'work', 'done'), 'a/2')
        },
      ],
    }))
    await until(() => client.logs.length === 1)
    expect(await client.call('work')).toBe('done')
  })

  test('that the host asks for with its own token is told, although the call was given up', async () => {
    const quiet: Leg = out => void out.prime('work/1')
    const { server, client } = await start(line, () => ({
      tools: { work: [quiet, out => out.result('done', 'work/2').end()] },
    }))
    await expect(client.call('work', { timeout: 200 })).rejects.toThrow()
    await until(() => server.of('notifications/cancelled').length === 1)
    expect(await client.call('work', { resumptionToken: 'work/1' })).toBe('done')
  })

  test('reaches each of two clients that share a wrapper, where there are no sessions to tell them apart', async () => {
    const server = await McpFaultServer.start({
      session: null,
      tools: { work: [out => out.pause(200).then(() => out.result('done').end())] },
    })
    open.push(server)
    const shared = wrapped()
    const clients = await Promise.all([connect(line, server.url, shared), connect(line, server.url, shared)])
    open.push(...clients)
    expect(await Promise.all(clients.map(client => client.call('work')))).toEqual(['done', 'done'])
  })
})
