import { connect, createServer, type Socket } from 'node:net'
import {
  type ChaosFault,
  ChaosOptionError,
  type ChaosRelayOptions,
  chaosRelay,
  comment,
  end,
  FaultServer,
  follow,
  heartbeats,
  rest,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { dial, parse, read, sleep, until } from './client.js'

/** 50 events of about 100 bytes, then open and quiet. */
const started = () => FaultServer.start({ log: { count: 50, bytes: 80 }, otherwise: [rest(), stay()] })

/** Everything that one connection gets through a relay with one fault. */
async function through(fault: ChaosFault, options: Partial<ChaosRelayOptions> = {}) {
  const server = await started()
  const relay = await chaosRelay({ target: server.url, faults: [fault], ...options })
  const got = dial(relay.port)
  return {
    server,
    relay,
    got,
    async [Symbol.asyncDispose]() {
      got.socket.destroy()
      await relay.close()
      await server.close()
    },
  }
}

describe('a relay without faults', () => {
  it('passes everything on, both ways, and counts it', async () => {
    await using server = await FaultServer.start({ log: { count: 300 }, otherwise: [rest(), end()] })
    await using relay = await chaosRelay({ target: server.url })
    expect(relay.url).toBe(server.url.replace(String(server.port), String(relay.port)))
    const direct = await read(server.url)
    const relayed = await read(relay.url, { id: server.log.idAt(9) ?? '' })
    expect(parse(relayed.text)).toEqual(parse(direct.text).slice(10))
    expect(server.requests[1]?.lastEventId).toBe(server.log.idAt(9))
    expect(relay.faults).toEqual([])
    await until(() => relay.openConnections === 0)
    const [connection] = relay.connections
    expect(connection?.bytesDown).toBe(server.requests[1]?.bytesWritten)
    expect(connection?.bytesUp).toBeGreaterThan(50)
    expect(connection?.closedAt).toBeGreaterThan(connection?.acceptedAt ?? Number.NaN)
  })

  it('passes on how each end leaves', async () => {
    const sockets: Socket[] = []
    const target = createServer({ allowHalfOpen: true }, socket => {
      socket.on('error', () => {})
      sockets.push(socket)
    })
    await new Promise<void>(resolve => target.listen(0, '127.0.0.1', resolve))
    const { port } = target.address() as { port: number }
    await using relay = await chaosRelay({ target: `127.0.0.1:${port}` })
    expect(relay.url).toBe(`http://127.0.0.1:${relay.port}/`)

    const first = dial(relay.port)
    await until(() => sockets.length === 1)
    sockets[0]?.resetAndDestroy()
    await first.closed
    expect(first.code).toBe('ECONNRESET')

    const second = dial(relay.port)
    await until(() => sockets.length === 2)
    sockets[1]?.end('bye')
    await second.closed
    expect([second.code, second.ended, second.text]).toEqual([undefined, true, 'bye'])

    const codes: (string | undefined)[] = []
    const third = dial(relay.port)
    await until(() => sockets.length === 3)
    sockets[2]?.once('error', (error: NodeJS.ErrnoException) => codes.push(error.code))
    sockets[2]?.resume()
    third.socket.resetAndDestroy()
    await until(() => codes.length === 1)
    expect(codes).toEqual(['ECONNRESET'])

    // Half a connection: the client has said all it has to say, and still gets its answer.
    const half = connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true })
    let text = ''
    half.on('data', data => {
      text += data
    })
    half.end('question')
    await until(() => sockets.length === 4)
    sockets[3]?.resume().once('end', () => sockets[3]?.end('answer'))
    await new Promise(resolve => half.once('close', resolve))
    expect(text).toBe('answer')
    target.close()
  })

  it('holds a sender back whose reader does not read, both ways', async () => {
    const FLOOD = 64 * 1_048_576
    let sent = 0
    let taken = 0
    const target = createServer({ allowHalfOpen: true }, socket => {
      socket.on('error', () => {})
      const pour = () => {
        while (sent < FLOOD) {
          sent += 65_536
          if (!socket.write(Buffer.alloc(65_536))) break
        }
      }
      socket.on('drain', pour)
      pour()
    })
    await new Promise<void>(resolve => target.listen(0, '127.0.0.1', resolve))
    await using relay = await chaosRelay({
      target: `127.0.0.1:${(target.address() as { port: number }).port}`,
    })
    const client = connect(relay.port, '127.0.0.1')
    client.on('error', () => {})
    client.pause()
    let gone = 0
    const talk = () => {
      while (gone < FLOOD) {
        gone += 65_536
        if (!client.write(Buffer.alloc(65_536))) break
      }
    }
    client.on('drain', talk)
    talk()
    // Kernel buffers are autotuned; that neither side got rid of everything is what matters.
    for (let before = -1; before !== sent + gone; await sleep(100)) before = sent + gone
    expect(sent).toBeLessThan(FLOOD)
    expect(gone).toBeLessThan(FLOOD)
    client.on('data', data => {
      taken += data.length
    })
    client.resume()
    await until(() => taken === FLOOD)
    client.destroy()
    target.close()
  })

  it('tells of a target that cannot be reached, and resets its client', async () => {
    const server = await started()
    await server.close()
    await using relay = await chaosRelay({ target: server.url })
    const got = dial(relay.port)
    await got.closed
    expect([got.code, got.text]).toEqual(['ECONNRESET', ''])
    expect(relay.faults).toMatchObject([{ fault: 'unreachable', connection: 0, detail: 'ECONNREFUSED' }])
  })

  it('passes TLS through as it is', async () => {
    const tls = await import('node:fs/promises').then(async ({ readFile }) => ({
      key: await readFile(new URL('../fixtures/self-signed.key.pem', import.meta.url), 'utf8'),
      cert: await readFile(new URL('../fixtures/self-signed.cert.pem', import.meta.url), 'utf8'),
    }))
    await using server = await FaultServer.start({ tls, log: { count: 20 }, otherwise: [rest(), end()] })
    await using relay = await chaosRelay({ target: server.url, faults: [{ do: 'reset', afterBytes: 3_000 }] })
    expect(relay.url).toMatch(/^https:/)
    const first = await read(relay.url)
    expect([first.code, first.status]).toEqual(['ECONNRESET', 200])
    relay.strike('pass')
    expect(parse((await read(server.url)).text)).toHaveLength(20)
    await expect(
      chaosRelay({ target: server.url, faults: [{ do: 'cut', inside: 'event' }] }),
    ).rejects.toThrow('faults[0].inside: expected a position (afterBytes)')
  })
})

describe('what a client sees of each fault', () => {
  it('reset: exactly so many bytes, then RST', async () => {
    await using run = await through({ do: 'reset', afterBytes: 1_234 })
    await run.got.closed
    expect([run.got.text.length, run.got.code]).toEqual([1_234, 'ECONNRESET'])
    await run.server.waitForClose(0)
    expect(run.server.requests[0]?.closedBy).toBe('client')
    expect(run.relay.faults).toMatchObject([
      { fault: 'reset', connection: 0, bytesDown: 1_234, by: 'schedule', detail: undefined },
    ])
    expect(run.relay.faults[0]?.bytesUp).toBeGreaterThan(20)
  })

  it('reset after no bytes: before any answer', async () => {
    await using run = await through({ do: 'reset', afterBytes: 0 })
    await run.got.closed
    expect([run.got.text, run.got.code]).toEqual(['', 'ECONNRESET'])
  })

  it('cut: exactly so many bytes, then FIN, without an error', async () => {
    await using run = await through({ do: 'cut', afterBytes: 777 })
    await run.got.closed
    expect([run.got.text.length, run.got.code, run.got.ended]).toEqual([777, undefined, true])
    await run.server.waitForClose(0)
  })

  it('cut inside an event: FIN in the middle of a data line', async () => {
    await using run = await through({ do: 'cut', inside: 'event', afterBytes: 2_000 })
    await run.got.closed
    const last = run.got.text.slice(run.got.text.lastIndexOf('\n') + 1)
    expect(run.got.text.length).toBeGreaterThan(2_000)
    expect(run.got.text.length).toBeLessThan(2_300)
    expect(last).toMatch(/^data:.+/)
    expect(run.relay.faults).toMatchObject([{ fault: 'cut', detail: 'inside an event' }])
  })

  it('stall: silence at a position, for a while, then everything', async () => {
    await using run = await through({ do: 'stall', afterBytes: 1_000, ms: 150 })
    let quietMs = 0
    let lastAt = performance.now()
    run.got.socket.on('data', () => {
      quietMs = Math.max(quietMs, performance.now() - lastAt)
      lastAt = performance.now()
    })
    await until(() => run.got.text.includes(run.server.log.idAt(49) ?? '?'))
    expect(quietMs).toBeGreaterThan(100)
    expect(run.got.code).toBeUndefined()
    expect(run.relay.faults).toMatchObject([{ fault: 'stall', bytesDown: 1_000, detail: '150 ms' }])
  })

  it('stall to the end: both ends stay, and a client that leaves takes its server along', async () => {
    await using run = await through({ do: 'stall', afterBytes: 1_000 })
    await until(() => run.relay.faults.length === 1)
    await sleep(100)
    expect([run.got.text.length, run.got.ended, run.got.code]).toEqual([1_000, false, undefined])
    expect(run.server.requests[0]?.closedAt).toBeUndefined()
    run.got.socket.end()
    await run.server.waitForClose(0)
    await until(() => run.relay.openConnections === 0)
  })

  it('a stall does not keep what its client has half left', async () => {
    const target = createServer({ allowHalfOpen: true }, socket => void socket.on('error', () => {}).resume())
    await new Promise<void>(resolve => target.listen(0, '127.0.0.1', resolve))
    await using relay = await chaosRelay({
      target: `127.0.0.1:${(target.address() as { port: number }).port}`,
    })
    const client = connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true })
    client.on('error', () => {}).end('bye')
    await until(() => relay.connections[0]?.bytesUp === 3)
    await sleep(20)
    expect(relay.strike('stall')).toBe(1)
    await until(() => relay.openConnections === 0)
    client.destroy()
    target.close()
  })

  it('a target that dies meanwhile is told when the stall is over', async () => {
    await using run = await through({ do: 'stall', afterBytes: 1_000, ms: 60_000 })
    await until(() => run.relay.faults.length === 1)
    run.server.resetAll()
    await sleep(50)
    expect(run.got.code).toBeUndefined()
    run.relay.strike('pass')
    await run.got.closed
    expect([run.got.text.length, run.got.code]).toEqual([1_000, 'ECONNRESET'])
  })

  it('delay: each piece comes later, in order, both ways', async () => {
    await using run = await through({ do: 'delay', afterBytes: 0, ms: 80 })
    const startedAt = performance.now()
    await until(() => run.got.text.includes(run.server.log.idAt(49) ?? '?'))
    // The question is late, and so is the answer.
    expect(performance.now() - startedAt).toBeGreaterThan(155)
    const body = parse(run.got.text.slice(run.got.text.indexOf('\r\n\r\n') + 4))
    expect(body.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, i) => run.server.log.idAt(i)))
  })

  it('drip: a few bytes at a time', async () => {
    await using run = await through({ do: 'drip', afterBytes: 3_000, bytes: 3, everyMs: 5 })
    await until(() => run.relay.faults.length === 1)
    const pieces: number[] = []
    run.got.socket.on('data', data => pieces.push(data.length))
    await until(() => pieces.length >= 6)
    expect(pieces.filter(length => length % 3 === 0)).toHaveLength(pieces.length)
    expect(run.relay.faults).toMatchObject([{ fault: 'drip', detail: '3 bytes every 5 ms' }])
    run.relay.strike('pass')
    await until(() => run.got.text.includes(run.server.log.idAt(49) ?? '?'))
  })

  it('blackhole that holds: the whole path is silent, new connections too, and goes on', async () => {
    await using server = await FaultServer.start({
      log: { count: 1 },
      otherwise: [heartbeats({ everyMs: 10 }), follow()],
    })
    await using relay = await chaosRelay({ target: server.url })
    const open = [dial(relay.port), dial(relay.port)]
    await until(() => open.every(({ text }) => text.includes('data:')))
    expect(relay.strike({ do: 'blackhole', ms: 60_000 })).toBe(2)
    const late = dial(relay.port)
    await sleep(30)
    const before = open.map(({ text }) => text.length)
    await sleep(100)
    expect(open.map(({ text }) => text.length)).toEqual(before)
    expect(late.text).toBe('')
    relay.strike('pass')
    await until(
      () => late.text.includes('data:') && open.every(({ text }, i) => text.length > (before[i] ?? 0)),
    )
    expect(relay.faults.slice(0, 2).map(({ fault, connection }) => [fault, connection])).toEqual([
      ['blackhole', 0],
      ['blackhole', 1],
    ])
    for (const { socket } of [...open, late]) socket.destroy()
  })

  it('blackhole that drops: open connections never speak again, and nobody is told', async () => {
    await using server = await FaultServer.start({
      log: { count: 1 },
      otherwise: [heartbeats({ everyMs: 10 }), follow()],
    })
    await using relay = await chaosRelay({ target: server.url })
    const lost = dial(relay.port)
    await until(() => lost.text.includes('data:'))
    relay.strike({ do: 'blackhole', ms: 100, bytes: 'drop' })
    const length = lost.text.length
    const late = dial(relay.port)
    await until(() => late.text.includes('data:'))
    await sleep(50)
    expect([lost.text.length, lost.ended, lost.code]).toEqual([length, false, undefined])
    expect(server.requests[0]?.closedAt).toBeUndefined()
    server.resetAll()
    await late.closed
    relay.strike('pass')
    await sleep(30)
    expect([lost.text.length, lost.ended, lost.code]).toEqual([length, false, undefined])
    lost.socket.destroy()
    await until(() => relay.openConnections === 0)
    expect(relay.faults[0]).toMatchObject({ fault: 'blackhole', detail: '100 ms, bytes dropped' })
  })

  it('refuse: RST, then ECONNREFUSED for a while, on the same port', async () => {
    await using run = await through({ do: 'refuse', afterBytes: 500, ms: 400 }, { rounds: 1 })
    const { port } = run.relay
    await run.got.closed
    expect([run.got.text.length, run.got.code]).toEqual([500, 'ECONNRESET'])
    const refused = dial(port)
    await refused.closed
    expect(refused.code).toBe('ECONNREFUSED')
    await sleep(500)
    const again = dial(port)
    await until(() => again.text.includes(run.server.log.idAt(49) ?? '?'))
    again.socket.destroy()
    expect(run.relay.faults).toMatchObject([{ fault: 'refuse', detail: '400 ms' }])
  })

  it('pass lets refused clients in at once', async () => {
    await using run = await through({ do: 'pass' })
    run.relay.strike({ do: 'refuse', ms: 60_000 })
    await run.got.closed
    run.relay.strike('pass')
    await sleep(50)
    const again = dial(run.relay.port)
    await until(() => again.text.includes('data:'))
    again.socket.destroy()
  })
})

describe('the schedule', () => {
  const FAULTS = [
    'reset',
    'cut',
    { do: 'stall', ms: [1, 9], times: 2 },
    { do: 'drip', afterMs: 60_000 },
  ] as const

  async function dealt(seed: number, rounds?: number) {
    await using server = await FaultServer.start({ otherwise: [comment('hi'), end()] })
    const options = { target: server.url, faults: FAULTS, seed }
    await using relay = await chaosRelay(rounds === undefined ? options : { ...options, rounds })
    for (let i = 0; i < 15; i++) await read(relay.url)
    return relay.connections.map(connection => connection.dealt)
  }

  it('is the same for the same seed, and another for another', async () => {
    const [first, second, other] = await Promise.all([dealt(7), dealt(7), dealt(8)])
    expect(first).toHaveLength(15)
    expect(second).toEqual(first)
    expect(other).not.toEqual(first)
  })

  it('deals every fault as often as it says in each round, within its ranges', async () => {
    const all = await dealt(3, 2)
    for (const round of [all.slice(0, 5), all.slice(5, 10)])
      expect(round.map(fault => fault?.do).sort()).toEqual(['cut', 'drip', 'reset', 'stall', 'stall'])
    expect(all.slice(10)).toEqual(Array(5).fill(undefined))
    for (const fault of all.slice(0, 10)) {
      if (fault?.do === 'drip') expect([fault.afterBytes, fault.afterMs]).toEqual([undefined, 60_000])
      else expect(fault?.afterBytes).toBeLessThanOrEqual(16_384)
      if (fault?.do === 'stall') expect([1, 2, 3, 4, 5, 6, 7, 8, 9]).toContain(fault.ms)
    }
  })

  it('strikes by the clock, too', async () => {
    await using run = await through({ do: 'reset', afterMs: 60 })
    await run.got.closed
    expect(run.got.code).toBe('ECONNRESET')
    const [record] = run.relay.faults
    expect((record?.at ?? 0) - (run.relay.connections[0]?.acceptedAt ?? 0)).toBeGreaterThan(55)
  })
})

describe('orders', () => {
  it('strike one connection or all of them, and are recorded and told', async () => {
    await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [follow()] })
    const told: string[] = []
    await using relay = await chaosRelay({
      target: server.url,
      onStrike: ({ fault, connection, by }) => told.push(`${fault} ${connection} ${by}`),
    })
    const dials = [dial(relay.port), dial(relay.port), dial(relay.port)]
    await until(() => dials.every(({ text }) => text.includes('data:')))
    const ports = relay.connections.map(({ clientPort }) => clientPort)
    const middle = ports.indexOf(dials[1]?.socket.localPort)
    expect(relay.strike('reset', { connection: middle })).toBe(1)
    await dials[1]?.closed
    expect(dials.map(({ code }) => code)).toEqual([undefined, 'ECONNRESET', undefined])
    expect(relay.strike({ do: 'cut', inside: 'event' })).toBe(2)
    expect(told).toEqual([`reset ${middle} order`])
    server.push({ data: 'a long event that is cut in the middle' })
    await Promise.all(dials.map(({ closed }) => closed))
    expect(dials[0]?.text).toMatch(/data: a long event that $/)
    expect(dials[2]?.ended).toBe(true)
    expect(told).toHaveLength(3)
    expect(relay.faults.map(({ by }) => by)).toEqual(['order', 'order', 'order'])
    expect(relay.strike('reset')).toBe(0)
    relay.strike({ do: 'refuse', ms: 1 })
    expect(relay.faults.at(-1)).toMatchObject({ fault: 'refuse', connection: undefined })
  })

  it('close() leaves nothing behind, whatever is going on', async () => {
    await using server = await FaultServer.start({ otherwise: [heartbeats({ everyMs: 5 }), follow()] })
    const relay = await chaosRelay({ target: server.url })
    const resources = () => process.getActiveResourcesInfo().filter(name => /TCP|Timeout/.test(name)).length
    const before = resources()
    for (const fault of ['stall', 'delay', 'drip', { do: 'blackhole', ms: 60_000 }, 'pass'] as const) {
      const got = dial(relay.port)
      await until(() => relay.connections.at(-1)?.clientPort === got.socket.localPort)
      relay.strike(fault, { connection: relay.connections.length - 1 })
    }
    relay.strike({ do: 'refuse', ms: 60_000 }, { connection: 0 })
    await relay.close()
    await relay.close()
    expect(relay.openConnections).toBe(0)
    await until(() => server.openSockets === 0)
    await until(() => resources() <= before)
    const refused = dial(relay.port)
    await refused.closed
    expect(refused.code).toBe('ECONNREFUSED')
  })
})

describe('options', () => {
  const target = 'http://127.0.0.1:1/'
  it.each<[options: unknown, message: string]>([
    [undefined, 'options: expected an object with a target'],
    [{}, 'target: expected an http or https URL, or host:port, got undefined'],
    [{ target: 'localhost' }, 'target: expected'],
    [{ target: 'ftp://x.test:1' }, 'target: expected'],
    [{ target: 'x.test:0' }, 'target: expected a port from 1'],
    [{ target, faluts: [] }, 'faluts: expected one of target, faults'],
    [{ target, faults: 'reset' }, 'faults: expected an array of faults'],
    [{ target, faults: ['rest'] }, 'faults[0]: expected one of reset, cut, stall'],
    [{ target, faults: ['cut', 7] }, "faults[1]: expected a fault such as 'reset'"],
    [{ target, faults: [{ do: 'x' }] }, 'faults[0].do: expected one of reset'],
    [{ target, faults: [{ do: 'reset', ms: 1 }] }, 'faults[0].ms: expected no such field in reset; there is'],
    [
      { target, faults: [{ do: 'stall', ms: -1 }] },
      'faults[0].ms: expected milliseconds from 0 to 2147483647',
    ],
    [{ target, faults: [{ do: 'stall', ms: [5, 2] }] }, 'faults[0].ms'],
    [{ target, faults: [{ do: 'drip', everyMs: 0 }] }, 'faults[0].everyMs: expected milliseconds from 1'],
    [{ target, faults: [{ do: 'drip', bytes: 1.5 }] }, 'faults[0].bytes: expected an integer from 1'],
    [{ target, faults: [{ do: 'blackhole', bytes: 'lose' }] }, 'faults[0].bytes: expected "hold" or "drop"'],
    [
      { target, faults: [{ do: 'cut', afterBytes: 1, afterMs: 1 }] },
      'faults[0].afterMs: expected afterBytes or',
    ],
    [{ target, faults: [{ do: 'cut', times: 0 }] }, 'faults[0].times: expected an integer from 1 to 1000'],
    [{ target, seed: 0.5 }, 'seed: expected an integer'],
    [{ target, rounds: -1 }, 'rounds: expected an integer of 0 or more'],
    [{ target, port: 65_536 }, 'port: expected an integer from 0 to 65535'],
    [{ target, host: '' }, 'host: expected an address'],
    [{ target, onStrike: 1 }, 'onStrike: expected a function'],
  ])('%j is refused by name', async (options, message) => {
    const error = await chaosRelay(options as ChaosRelayOptions).catch(caught => caught)
    expect(error).toBeInstanceOf(ChaosOptionError)
    expect(error.message).toContain(message)
  })

  it('strike() refuses in the same way', async () => {
    await using relay = await chaosRelay({ target })
    expect(() => relay.strike('nothing' as 'reset')).toThrow('strike: expected one of reset')
  })

  it('a port that is taken rejects', async () => {
    await using server = await started()
    await expect(chaosRelay({ target, port: server.port })).rejects.toThrow('EADDRINUSE')
  })
})
