import {
  end,
  eventLog,
  FaultServer,
  forget,
  fromNow,
  ignoreId,
  numberAnew,
  replay,
  rest,
  restart,
  type Step,
  send,
  skip,
  startAt,
  stay,
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
    const got = dial(server.port)
    await server.waitForRequests(1)
    server.push({ data: 'live', id: 'x' })
    await until(() => got.text.includes('data: live\n\n'))
    got.socket.destroy()
    expect(got.text.match(/^id: .*$/gm)).toEqual(['id: x'])
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
