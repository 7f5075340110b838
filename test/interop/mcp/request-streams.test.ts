import { describe, expect, test } from 'vitest'
import { connect, type Line, wrapped } from './clients.ts'
import { McpFaultServer } from './fault-server.ts'

const LINES: Line[] = ['v1', 'v2']

describe.each(LINES)('a tool call of the %s SDK', line => {
  test('survives a reset after its first event', async () => {
    await using server = await McpFaultServer.start({
      tools: {
        work: [
          out => out.log('one', 'work/1').reset(),
          out => out.log('two', 'work/2').result('done', 'work/3').end(),
        ],
      },
    })
    await using client = await connect(line, server.url, wrapped())
    expect(await client.call('work', { timeout: 5_000 })).toBe('done')
    expect(client.logs).toEqual(['one', 'two'])
    expect(client.errors).toEqual([])
    const [resume, ...others] = server.of('GET').filter(({ headers }) => headers['last-event-id'])
    expect(resume?.headers).toMatchObject({
      'last-event-id': 'work/1',
      'mcp-session-id': 'session-1',
      'mcp-protocol-version': '2025-11-25',
      accept: 'text/event-stream',
    })
    expect(resume?.headers['content-type']).toBeUndefined()
    expect(others).toEqual([])
    expect(server.of('tools/call')).toHaveLength(1)
  })
})
