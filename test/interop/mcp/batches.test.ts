import { mcpFetch } from 'resilient-sse/mcp'
import { end, FaultServer, raw, reset } from 'resilient-sse/testing'
import { expect, test } from 'vitest'
import { CallRegister } from '../../../src/adapters/mcp/cancelled.ts'
import { SessionCredentials } from '../../../src/adapters/mcp/credentials.ts'
import { Handovers } from '../../../src/adapters/mcp/handover.ts'
import { resolveMcpOptions } from '../../../src/adapters/mcp/options.ts'
import { readRequest } from '../../../src/adapters/mcp/request.ts'
import { RequestStream } from '../../../src/adapters/mcp/request-stream.ts'
import { QUICK, sleep } from './clients.ts'

// Several calls in one POST, as the revision 2025-03-26 has them. The SDKs of today do not send such; other clients do.

const block = (id: number, message: object) => raw(`id: ${id}\ndata: ${JSON.stringify(message)}\n\n`)
const result = (id: number | string) => ({ jsonrpc: '2.0', id, result: {} })
const failed = (id: number | string) => ({ jsonrpc: '2.0', id, error: { code: 1, message: 'no' } })
const post = (...ids: (number | string)[]): RequestInit => ({
  method: 'POST',
  headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
  body: JSON.stringify(ids.map(id => ({ jsonrpc: '2.0', id, method: 'tools/call' }))),
})

/** The messages of a stream, when it has ended. */
async function messages(response: Response): Promise<{ id: unknown; error?: { code: number } }[]> {
  const text = await response.text()
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))
}

test('a batch is finished when each of its calls is answered, by a result or by an error', async () => {
  await using server = await FaultServer.start({
    script: [
      [block(1, result(1)), reset()],
      [block(2, [failed('1')]), reset()],
      [block(3, result(2)), end()],
    ],
  })
  const answers = await messages(await mcpFetch(QUICK)(server.url, post(1, '1', 2)))
  expect(answers.flat().map(({ id }) => id)).toEqual([1, '1', 2])
  await sleep(300)
  expect(server.requests.map(({ method, lastEventId }) => [method, lastEventId])).toEqual([
    ['POST', undefined],
    ['GET', '1'],
    ['GET', '2'],
  ])
})

test('what of a batch is open is settled, each call by its own id', async () => {
  await using server = await FaultServer.start({
    script: [[raw(`data: ${JSON.stringify(result(1))}\n\n`), reset()]],
  })
  const answers = await messages(await mcpFetch(QUICK)(server.url, post(1, '1', 2)))
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
    [1, undefined],
    ['1', -32_000],
    [2, -32_000],
  ])
  expect(server.requests).toHaveLength(1)
})

test('calls that are over are forgotten', async () => {
  const settings = resolveMcpOptions(QUICK)
  const register = new CallRegister()
  const shared = {
    settings,
    register,
    handovers: new Handovers(),
    credentials: new SessionCredentials(),
    onSessionLost() {},
  }
  const request = await readRequest('http://server.test/mcp', post(1, 2))
  const body = `data: ${JSON.stringify(result(1))}\n\ndata: ${JSON.stringify(result(2))}\n\n`
  const answer = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const requests = [1, 2].map(id => ({ id, method: 'tools/call' }))
  const stream = new RequestStream(answer, request, { requests, headers: new Headers() }, shared)
  expect(register.size).toBe(2)
  expect(await messages(stream.response)).toHaveLength(2)
  expect(register.size).toBe(0)
})
