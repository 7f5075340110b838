import {
  bigEvent,
  closeDelimited,
  comment,
  contentLength,
  cut,
  cutInside,
  dribble,
  end,
  endlessComment,
  endlessData,
  endlessLine,
  event,
  eventLog,
  FaultServer,
  follow,
  headers,
  heartbeats,
  hold,
  idOnly,
  lineEnding,
  numberAnew,
  oneChunkPerEvent,
  raw,
  rawBytes,
  rest,
  retry,
  type Step,
  send,
  silence,
  stay,
  wait,
} from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { type Dial, dial, parse, read, sleep, until } from './client.js'

const log = () => eventLog({ count: 40, ids: 'decimal' })

/** The body of a script, as text. */
async function bodyOf(...script: Step[]): Promise<string> {
  await using server = await FaultServer.start({ log: log(), script: [script] })
  return (await read(server.url)).text
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => String(from + i))

describe('the body of a stream', () => {
  it('sends comments, retry fields, bare ids, foreign events, raw text and raw bytes as they are', async () => {
    expect(await bodyOf(comment('hi'))).toBe(': hi\n\n')
    expect(await bodyOf(retry('9'.repeat(400)))).toBe(`retry: ${'9'.repeat(400)}\n\n`)
    expect(await bodyOf(retry(0))).toBe('retry: 0\n\n')
    expect(await bodyOf(idOnly('7'))).toBe('id: 7\n\n')
    expect(await bodyOf(event({ data: 'x', event: 'error' }))).toBe('event: error\ndata: x\n\n')
    expect(await bodyOf(raw('data: 豆'), rawBytes([10, 10]))).toBe('data: 豆\n\n')
  })

  it('ends lines as lineEnding() says', async () => {
    expect(await bodyOf(lineEnding('\r\n'), comment('a'), event({ data: 'b' }))).toBe(
      ': a\r\n\r\ndata: b\r\n\r\n',
    )
    expect(await bodyOf(lineEnding('\r'), retry('1'))).toBe('retry: 1\r\r')
  })

  it('sends thousands of events in a few writes, or each in a chunk of its own with oneChunkPerEvent()', async () => {
    const script = [
      [send(5000), end()],
      [oneChunkPerEvent(), send(50), end()],
    ]
    await using server = await FaultServer.start({ log: { count: 5000 }, script })
    const chunksOf = async () => {
      const got = dial(server.port)
      await until(() => got.text.endsWith('\r\n0\r\n\r\n'))
      got.socket.destroy()
      return (got.text.match(/^[0-9a-f]+\r$/gm) ?? []).length - 1
    }
    expect(await chunksOf()).toBeLessThan(40)
    expect(await chunksOf()).toBe(50)
  })

  it('dribbles everything that follows byte by byte', async () => {
    await using server = await FaultServer.start({
      script: [[comment('fast'), dribble(), event({ data: '豆腐' })]],
    })
    const got = dial(server.port)
    await until(() => got.text.endsWith('\r\n0\r\n\r\n'))
    got.socket.destroy()
    expect(got.text.match(/^1\r$/gm)).toHaveLength(Buffer.byteLength('data: 豆腐\n\n'))
  })

  it('dribbles at the pace it is given, and keeps heartbeats out of the event', async () => {
    const script = [
      [heartbeats({ everyMs: 5 }), dribble({ bytes: 2, everyMs: 10 }), event({ data: 'abcdefgh' })],
    ]
    await using server = await FaultServer.start({ script })
    const before = performance.now()
    expect((await read(server.url)).text).toContain('data: abcdefgh\n\n')
    expect(performance.now() - before).toBeGreaterThan(70)
  })

  it('sends a number of heartbeats in the script, or goes on with them beside it', async () => {
    expect(await bodyOf(heartbeats({ everyMs: 2, jitter: 0.5, count: 3 }))).toBe(': heartbeat\n\n'.repeat(3))
    const body = await bodyOf(heartbeats({ everyMs: 5 }), send(1), wait(150), send(1))
    expect(body.split(': heartbeat\n\n').length).toBeGreaterThan(3)
    expect(parse(body).map(block => block.id)).toEqual(['1', '2'])
  })

  it('waits before the headers with hold() and after them with wait()', async () => {
    await using server = await FaultServer.start({ script: [[hold(120), wait(120), send(1)]] })
    const got = dial(server.port)
    await until(() => got.text !== '')
    expect(performance.now() - (server.requests[0]?.at ?? 0)).toBeGreaterThan(100)
    expect(got.text).not.toContain('data:')
    await until(() => got.text.includes('data:'))
    expect(performance.now() - (server.requests[0]?.at ?? 0)).toBeGreaterThan(220)
    got.socket.destroy()
  })

  it('follows the log with follow(), and with stay() once everything was sent', async () => {
    const script = [[follow()], [rest(), stay()], [send(1), stay()], [rest(), silence()]]
    await using server = await FaultServer.start({ log: { count: 2, ids: 'decimal' }, script })
    const dials: Dial[] = []
    for (let i = 0; i < 4; i++) {
      dials.push(dial(server.port))
      await server.waitForRequests(i + 1)
    }
    await until(() => server.requests.map(request => request.eventsWritten).join() === '2,2,1,2')
    server.push({ data: 'live', id: '3' })
    await until(() => dials.slice(0, 2).every(got => got.text.includes('data: live\n\n')))
    await sleep(50)
    for (const got of dials) got.socket.destroy()
    const ids = dials.map(got => got.text.match(/^id: .*$/gm)?.map(line => line.slice(4)))
    expect(ids).toEqual([range(1, 3), range(1, 3), range(1, 1), range(1, 2)])
  })

  it('streams an event of 64 MiB without holding it', async () => {
    const size = 64 * 1024 * 1024
    await using server = await FaultServer.start({ script: [[bigEvent(size, { id: 'big' }), end()]] })
    const got = dial(server.port)
    let bytes = 0
    got.socket.removeAllListeners('data').on('data', data => {
      bytes += data.length
    })
    await server.waitForClose(0, 20_000)
    await until(() => bytes >= (server.requests[0]?.bytesWritten ?? Number.POSITIVE_INFINITY))
    got.socket.destroy()
    expect(bytes).toBeGreaterThan(size)
  }, 30_000)

  it('goes on with endless lines until the client leaves, or to the cap it was given', async () => {
    expect(await bodyOf(endlessLine({ maxBytes: 100_000 }))).toBe(`data: ${'x'.repeat(100_000)}`)
    expect(await bodyOf(endlessComment({ maxBytes: 1000 }))).toBe(`: ${'x'.repeat(1000)}`)
    const lines = (await bodyOf(endlessData({ maxBytes: 100_000 }))).split('\n')
    expect(lines.length).toBeGreaterThan(90)
    expect(lines.slice(0, -1).every(line => /^data: x+$/.test(line))).toBe(true)
    await using server = await FaultServer.start({ script: [[endlessLine()]] })
    const got = dial(server.port)
    await until(() => got.text.length > 1_000_000)
    got.socket.destroy()
    await server.waitForClose(0)
    expect(server.requests[0]?.closedBy).toBe('client')
  })

  it('blocks its writer while the client does not read, and says for how long', async () => {
    await using server = await FaultServer.start({ script: [[endlessData()]] })
    const got = dial(server.port)
    got.socket.pause()
    await until(() => (server.requests[0]?.writeBlockedMs ?? 0) > 100)
    const written = server.requests[0]?.bytesWritten
    await until(() => (server.requests[0]?.writeBlockedMs ?? 0) > 200)
    expect(server.requests[0]?.bytesWritten).toBe(written)
    got.socket.destroy()
  })
})

describe('the head of a stream', () => {
  it('is that of an event stream, and headers() adds, overrides and removes fields', async () => {
    const script = [
      [end()],
      [headers({ 'content-type': 'text/plain', 'X-Two': ['a', 'b'], 'cache-control': null })],
    ]
    await using server = await FaultServer.start({ script })
    const plain = await read(server.url)
    expect(plain.headers.get('content-type')).toBe('text/event-stream')
    const other = await read(server.url)
    expect(other.headers.get('content-type')).toBe('text/plain')
    expect(other.headers.get('x-two')).toBe('a, b')
    expect(other.headers.get('cache-control')).toBeNull()
  })

  it('has no framing with closeDelimited(), so that a cut cannot be told from an end', async () => {
    for (const last of [end(), cut()]) {
      await using server = await FaultServer.start({
        log: log(),
        script: [[closeDelimited(), send(2), last]],
      })
      const got = await read(server.url)
      expect(got.headers.get('transfer-encoding')).toBeNull()
      expect(got.headers.get('content-length')).toBeNull()
      expect(got.headers.get('connection')).toBe('close')
      expect(got.error).toBeUndefined()
      expect(parse(got.text)).toHaveLength(2)
    }
  })

  it('has the length of the body with contentLength(), and a cut is seen as one', async () => {
    const script: Step[][] = [
      [contentLength(), send(3), comment('x'), end()],
      [contentLength(), numberAnew(), send(3), cut()],
      [contentLength(), send(3), cutInside('event')],
      [contentLength(5), raw('data:'), end()],
    ]
    await using server = await FaultServer.start({ log: log(), script })
    const whole = await read(server.url)
    expect(whole.error).toBeUndefined()
    expect(whole.headers.get('content-length')).toBe(String(whole.bytes.length))
    for (const events of [3, 3]) {
      const got = await read(server.url)
      expect(got.error).toBeDefined()
      expect(parse(got.text)).toHaveLength(events)
    }
    expect((await read(server.url)).text).toBe('data:')
    expect(server.sent()).toEqual([0, 1, 2])
  })
})
