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
  forget,
  fromNow,
  headers,
  heartbeats,
  hold,
  idOnly,
  ignoreId,
  lineEnding,
  numberAnew,
  oneChunkPerEvent,
  raw,
  rawBytes,
  replay,
  rest,
  restart,
  retry,
  type Step,
  send,
  silence,
  skip,
  startAt,
  stay,
  wait,
} from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { dial, parse, read, until } from './client.js'

const log = () => eventLog({ count: 40, ids: 'decimal' })

/** The ids that a client is sent which has event 10. */
async function idsAfterTen(...script: Step[]): Promise<(string | undefined)[]> {
  await using server = await FaultServer.start({ log: log(), script: [[send(10), end()], script] })
  await read(server.url)
  const got = await read(server.url, { id: '10' })
  return parse(got.text).map(block => block.id)
}

/** The body of a script, as text. */
async function bodyOf(...script: Step[]): Promise<string> {
  await using server = await FaultServer.start({ log: log(), script: [script] })
  return (await read(server.url)).text
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => String(from + i))

describe('the position of a stream', () => {
  it('goes on after Last-Event-ID', async () => {
    expect(await idsAfterTen(send(3))).toEqual(range(11, 13))
  })

  it('goes back over an overlap with replay({ overlap })', async () => {
    expect(await idsAfterTen(replay({ overlap: 5 }), send(7))).toEqual(range(6, 12))
    expect(await idsAfterTen(replay({ overlap: 99 }), send(2))).toEqual(range(1, 2))
  })

  it('starts at the first event with replay("all") and with ignoreId()', async () => {
    expect(await idsAfterTen(replay('all'), rest())).toEqual(range(1, 40))
    expect(await idsAfterTen(ignoreId(), send(2))).toEqual(range(1, 2))
  })

  it('starts where startAt(index) says, and loses what skip(count) says', async () => {
    expect(await idsAfterTen(startAt(30), send(2))).toEqual(range(31, 32))
    expect(await idsAfterTen(skip(4), send(2))).toEqual(range(15, 16))
    expect(await idsAfterTen(skip(400), send(2))).toEqual([])
  })

  it('skips everything in the log with fromNow()', async () => {
    await using server = await FaultServer.start({ log: log(), script: [[fromNow(), stay()]] })
    const reading = read(server.url, { forMs: 400 })
    await server.waitForRequests(1)
    server.push({ data: 'live', id: 'x' })
    expect(parse((await reading).text)).toEqual([{ id: 'x', event: undefined, data: 'live' }])
  })

  it('numbers the ids of one response from 1 with numberAnew(), and keeps the data', async () => {
    await using server = await FaultServer.start({
      log: log(),
      script: [[numberAnew(), startAt(20), send(3)]],
    })
    const blocks = parse((await read(server.url)).text)
    expect(blocks.map(block => block.id)).toEqual(range(1, 3))
    expect(blocks.map(block => block.data)).toEqual([20, 21, 22].map(i => server.log.at(i).data))
  })

  it('numbers from 1 on every connection after restart(), and knows nothing older', async () => {
    await using server = await FaultServer.start({ log: log(), script: [[send(10), end(), restart()]] })
    await read(server.url)
    await server.setScript([[send(4)], [send(2)], [send(2)]])
    const fresh = parse((await read(server.url)).text)
    expect(fresh.map(block => block.id)).toEqual(range(1, 4))
    expect(fresh[0]?.data).toBe(server.log.at(10).data)
    expect(parse((await read(server.url, { id: '4' })).text).map(block => block.id)).toEqual(range(5, 6))
    expect(parse((await read(server.url, { id: '99' })).text).map(block => block.id)).toEqual(range(1, 2))
  })

  it('goes on at the oldest event kept when the one named was forgotten', async () => {
    await using server = await FaultServer.start({
      log: log(),
      script: [[send(5), end(), forget(20)], [send(2)]],
    })
    await read(server.url)
    expect(parse((await read(server.url, { id: '5' })).text).map(block => block.id)).toEqual(range(21, 22))
  })

  it.each([
    ['start', range(1, 40)],
    ['oldest', range(1, 40)],
    ['end', []],
  ] as const)(
    'sends what onUnknownId: %j says to a client with an id nobody knows',
    async (onUnknownId, expected) => {
      await using server = await FaultServer.start({ log: log(), onUnknownId, otherwise: [rest(), end()] })
      expect(parse((await read(server.url, { id: 'nobody' })).text).map(block => block.id)).toEqual(expected)
    },
  )

  it('compares ids as UTF-8, also those that are no Latin-1, and takes ids of 20,000 characters', async () => {
    for (const ids of ['non-latin-1', 'long'] as const) {
      await using server = await FaultServer.start({ log: { count: 9, ids }, otherwise: [rest(), end()] })
      const id = server.log.idAt(6) ?? ''
      const got = dial(
        server.port,
        `GET / HTTP/1.1\r\nLast-Event-ID: ${Buffer.from(id).toString('latin1')}\r\n\r\n`,
      )
      await until(() => got.text.endsWith('0\r\n\r\n'))
      got.socket.destroy()
      expect(server.requests[0]?.lastEventId).toBe(id)
      expect(server.requests[0]?.firstIndex).toBe(7)
    }
  })

  it('takes a repeated id for the last of its events that was sent', async () => {
    const script = [
      [send(2), end()],
      [rest(), end()],
    ]
    await using server = await FaultServer.start({ log: { count: 8, ids: 'duplicate' }, script })
    await read(server.url)
    await read(server.url, { id: 'batch-0' })
    expect(server.requests[1]?.firstIndex).toBe(2)
  })
})

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
    const readings: ReturnType<typeof read>[] = []
    for (let i = 0; i < 4; i++) {
      readings.push(read(server.url, { forMs: 500 }))
      await server.waitForRequests(i + 1)
    }
    await until(() => server.requests.map(request => request.eventsWritten).join() === '2,2,1,2')
    server.push({ data: 'live', id: '3' })
    const ids = (await Promise.all(readings)).map(got => parse(got.text).map(block => block.id))
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
    await read(server.url, { forMs: 100 })
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
