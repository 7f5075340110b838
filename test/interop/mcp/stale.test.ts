import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mcpFetch } from 'resilient-sse/mcp'
import { expect, onTestFinished, test } from 'vitest'
import { connect, type Line, until } from './clients.ts'
import { McpFaultServer } from './fault-server.ts'

/** What a fetch rejects with that met a kept connection which the other side had closed. */
const stale = () =>
  Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })

test.each<Line>(['v1', 'v2'])(
  '%s: a GET that meets a closed connection is tried again at once, a POST is not',
  async line => {
    await using server = await McpFaultServer.start({
      standalone: [out => void out.open()],
      tools: { work: [out => out.prime('work/1').end(), out => out.result('done', 'work/2').end()] },
    })
    const failed: string[] = []
    const failsOnce: typeof globalThis.fetch = async (input, init) => {
      const { method = 'GET', headers } = init ?? {}
      const what = `${method} ${new Headers(headers).get('last-event-id') ?? ''}`.trim()
      const isCall = typeof init?.body === 'string' && init.body.includes('tools/call')
      if ((method === 'GET' || isCall) && !failed.includes(what)) {
        failed.push(what)
        throw stale()
      }
      return fetch(input, init)
    }
    await using client = await connect(line, server.url, { fetch: mcpFetch({ fetch: failsOnce }) })
    await until(() => server.of('GET').length === 1)
    await expect(client.call('work')).rejects.toThrow('fetch failed')
    expect(server.of('tools/call')).toEqual([])
    expect(await client.call('work')).toBe('done')
    expect(failed).toEqual(['GET', 'POST', 'GET work/1'])
    expect(server.of('GET')).toHaveLength(2)
  },
)

test('a real connection that was closed while it was idle costs a GET nothing but another connection', async () => {
  let connections = 0
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(request.method === 'GET' ? 200 : 202, { 'content-type': 'text/event-stream' })
    if (request.method === 'GET') response.flushHeaders()
    else response.end()
  })
  server.on('connection', socket => {
    // Closed at the very moment in which the next request is on its way.
    if (++connections === 1) socket.on('data', () => socket.bytesRead > 400 && socket.resetAndDestroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const fetch = mcpFetch()
  const posted = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{}',
  })
  await posted.text()
  const stream = await fetch(url, { headers: { accept: 'text/event-stream', padding: 'x'.repeat(400) } })
  expect(stream.status).toBe(200)
  expect(connections).toBe(2)
  await stream.body?.cancel()
})
