import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type Leg, McpFaultServer, type McpScript } from '../interop/mcp/fault-server.ts'

// A process ends by itself when nothing is left in it that keeps it alive: no socket, no timer.

const built = pathToFileURL('dist/mcp.js').href

/** Connects, calls a tool that never answers, closes the client after `ms`, and has nothing more to do. */
const program = (line: 'v1' | 'v2', url: URL, ms: number) => `
  const sdk = '@modelcontextprotocol/'
  const { Client } = await import(sdk + '${line === 'v1' ? 'sdk/client/index.js' : 'client'}')
  const { StreamableHTTPClientTransport } = await import(sdk + '${line === 'v1' ? 'sdk/client/streamableHttp.js' : 'client'}')
  const { mcpFetch } = await import('${built}')
  const client = new Client({ name: 'exit', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL('${url}'), { fetch: mcpFetch() }))
  client.callTool({ name: 'work', arguments: {} }).catch(() => {})
  await new Promise(resolve => setTimeout(resolve, ${ms}))
  await client.close()
  console.log(process.getActiveResourcesInfo().join(' '))
`

const states: [string, McpScript][] = [
  ['its stream open', { tools: { work: [out => void out.prime('work/1')] } }],
  ['its stream gone for an hour', { tools: { work: [out => out.prime('work/1', 3_600_000).end()] } }],
  ['a resume without headers', { tools: { work: [out => out.prime('work/1', 100).end(), () => {}] } }],
  ['no headers at all', { tools: { work: [() => {}] } }],
  [
    'the standalone stream open',
    { tools: { work: [out => void out.prime('work/1')] }, standalone: [out => void out.open()] },
  ],
  [
    'the standalone stream waiting for its server',
    {
      tools: { work: [out => void out.prime('work/1')] },
      standalone: [out => out.log('a', 'a/1').end(), ...Array<Leg>(9).fill(out => out.answer(503))],
    },
  ],
]

describe.each(['v1', 'v2'] as const)('%s: after close() with', line => {
  test.concurrent.each(states)('%s, the process ends by itself', async (_, script) => {
    const server = await McpFaultServer.start(script)
    const args = ['--input-type=module', '--eval', program(line, server.url, 1_000)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let closedAt = 0
    let left = ''
    child.stdout.on('data', chunk => {
      closedAt = performance.now()
      left += chunk
    })
    const [code] = await once(child, 'exit')
    expect(code).toBe(0)
    // A call of the SDK has a timeout of 60 s, a watchdog 120 s, and undici's idle connections 4 s.
    expect(performance.now() - closedAt).toBeLessThan(3_000)
    expect(left).not.toMatch(/Timeout|TLSWrap/)
    await server[Symbol.asyncDispose]()
  })
})
