import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js'
import { WebStandardStreamableHTTPServerTransport as TransportV1 } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import {
  type EventStore as EventStoreV2,
  WebStandardStreamableHTTPServerTransport as TransportV2,
} from '@modelcontextprotocol/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MemoryEventStore } from '../../docs/examples/mcp/event-store.ts'

// What the servers of both SDK lines make of what an event store does: the reasons of docs/mcp-server.md.

const note = (data: string): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data },
})
const answerTo = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: {} })

/** A session with this store. */
async function open(line: 'v1' | 'v2', eventStore: EventStoreV2) {
  const options = { sessionIdGenerator: () => 'session', eventStore }
  const transport = line === 'v1' ? new TransportV1(options) : new TransportV2(options)
  onTestFinished(() => transport.close())
  await transport.start()

  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-session-id': 'session',
    'mcp-protocol-version': '2025-11-25',
  }
  const ask = (init: RequestInit) => transport.handleRequest(new Request('http://localhost/mcp', init))
  const post = (id: number, method: string, params = {}) =>
    ask({ method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id, method, params }) })
  const get = (lastEventId?: string) =>
    ask({ headers: lastEventId === undefined ? headers : { ...headers, 'last-event-id': lastEventId } })

  const clientInfo = { name: 'test', version: '1' }
  const opened = post(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  await (await opened).body?.cancel()
  return { transport, post, get }
}

/** What has come by now: reads until nothing comes at once, or the end. */
async function read(response: Response): Promise<{ text: string; ended: boolean; ids: string[] }> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const quiet = new Promise<undefined>(resolve => setTimeout(resolve, 50))
    const chunk = await Promise.race([reader?.read(), quiet])
    text += chunk?.value ?? ''
    if (chunk === undefined || chunk.done) {
      const ids = [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id as string)
      await reader?.cancel()
      return { text, ended: chunk !== undefined, ids }
    }
  }
}

const dataOf = (text: string) => [...text.matchAll(/"data":"(.+?)"/g)].map(([, data]) => data)

describe.each(['v1', 'v2'] as const)('the server of the SDK, %s,', line => {
  test('has everything replayed that was sent while no stream was open, and goes on from there', async () => {
    const { transport, post, get } = await open(line, new MemoryEventStore())
    const before = await read(await post(1, 'tools/call'))
    await transport.send(note('one'), { relatedRequestId: 1 })
    const resumed = await get(before.ids[0])
    await transport.send(note('two'), { relatedRequestId: 1 })
    await transport.send(answerTo(1))
    const { text, ended } = await read(resumed)
    expect([dataOf(text), text.includes('"result"'), ended]).toEqual([['one', 'two'], true, true])
  })

  test('goes on with the standalone stream', async () => {
    const { transport, get } = await open(line, new MemoryEventStore())
    const stream = await get()
    await transport.send(note('one'))
    const before = await read(stream)
    await transport.send(note('two'))
    const resumed = await get(before.ids[0])
    await transport.send(note('three'))
    expect(dataOf((await read(resumed)).text)).toEqual(['two', 'three'])
  })

  test('answers 400 to an unknown id, which is final', async () => {
    const { get } = await open(line, new MemoryEventStore())
    expect((await get('00000000-1')).status).toBe(400)
  })

  test('answers 500 when it cannot ask the store of which stream an id is, and the replay fails', async () => {
    const right = new MemoryEventStore()
    const { get } = await open(line, {
      storeEvent: (stream, message) => right.storeEvent(stream, message),
      replayEventsAfter: (id, { send }) => right.replayEventsAfter(id, { send }),
    })
    expect((await get('00000000-1')).status).toBe(500)
  })

  test('leaves a call without its answer, and its stream open, when the store throws', async () => {
    const right = new MemoryEventStore()
    let full = false
    const { transport, post } = await open(line, {
      storeEvent: (stream, message) =>
        full ? Promise.reject(new Error('ENOSPC')) : right.storeEvent(stream, message),
      replayEventsAfter: (id, { send }) => right.replayEventsAfter(id, { send }),
    })
    const stream = await post(1, 'tools/call')
    full = true
    await expect(transport.send(answerTo(1))).rejects.toThrow('ENOSPC')
    const { text, ended } = await read(stream)
    expect([text.includes('"result"'), ended]).toEqual([false, false])
  })

  describe('with the example store of the SDK', () => {
    const nothing = line === 'v1' ? 'a stream on which nothing ever comes' : 'a stream that ends at once'

    test(`answers 200 to an unknown id, with ${nothing}`, async () => {
      const { transport, get } = await open(line, new InMemoryEventStore())
      const stream = await get('unknown')
      await transport.send(note('one'))
      expect([stream.status, await read(stream)]).toEqual([200, { text: '', ids: [], ended: line === 'v2' }])
    })

    test(`does the same when the standalone stream is resumed`, async () => {
      const { transport, get } = await open(line, new InMemoryEventStore())
      const first = await get()
      await transport.send(note('one'))
      const before = await read(first)
      await transport.send(note('two'))
      const resumed = await get(before.ids[0])
      await transport.send(note('three'))
      expect([resumed.status, await read(resumed)]).toEqual([
        200,
        { text: '', ids: [], ended: line === 'v2' },
      ])
    })

    test('loses some of what was sent within a millisecond, and sends the rest in another order', async () => {
      const { transport, post, get } = await open(line, new InMemoryEventStore())
      const stream = await post(1, 'tools/call')
      const sent = Array.from({ length: 50 }, (_, n) => `note ${n}`)
      const reading = read(stream)
      for (const text of sent) await transport.send(note(text), { relatedRequestId: 1 })
      const { ids, text } = await reading
      expect(dataOf(text)).toEqual(sent)
      // The client had all of them but the last twenty.
      const replayed = dataOf((await read(await get(ids[30]))).text)
      expect(replayed).not.toEqual(sent.slice(30))
    })
  })
})
