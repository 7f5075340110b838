import {
  answer,
  comment,
  cut,
  cutInside,
  end,
  event,
  FaultServer,
  flapping,
  garbage,
  headersOnly,
  heartbeats,
  lineEnding,
  noHeaders,
  redirect,
  refuse,
  reset,
  rest,
  type Step,
  send,
  silence,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { dial, parse, read, sleep, until } from './client.js'

const serve = (...script: Step[]) =>
  FaultServer.start({ log: { count: 30, bytes: [30, 90] }, script: [script] })

describe('the end of a stream', () => {
  it('is clean with end(), and without any end word', async () => {
    for (const last of [[end()], []]) {
      await using server = await serve(send(2), ...last)
      const got = await read(server.url)
      expect(got.error).toBeUndefined()
      expect(parse(got.text)).toHaveLength(2)
      expect(server.requests[0]).toMatchObject({
        closedBy: 'server',
        eventsWritten: 2,
        firstIndex: 0,
        lastIndex: 1,
      })
      expect(server.faults).toMatchObject([{ request: 0, kind: 'end', position: 2 }])
    }
  })

  it('is a FIN without the last chunk with cut()', async () => {
    await using server = await serve(send(2), cut())
    const got = dial(server.port)
    await got.closed
    expect(got).toMatchObject({ ended: true, code: undefined })
    expect(got.text.endsWith('0\r\n\r\n')).toBe(false)
    expect(got.text.match(/data: \d+ /g)).toHaveLength(2)
  })

  it('is a RST after everything was delivered with reset()', async () => {
    await using server = await FaultServer.start({ log: { count: 5000 }, script: [[rest(), reset()]] })
    const got = await read(server.url)
    expect(got.code).toBe('ECONNRESET')
    expect(parse(got.text)).toHaveLength(5000)
  })

  it('is a RST that may overtake the data with reset({ flushed: false })', async () => {
    await using server = await serve(send(1), reset({ flushed: false }))
    const got = dial(server.port)
    await got.closed
    expect(got.text.endsWith('0\r\n\r\n')).toBe(false)
    expect(server.requests[0]?.closedBy).toBe('server')
  })

  it('comes before any answer when cut() or reset() is the only word', async () => {
    for (const [word, code] of [
      [cut(), undefined],
      [reset(), 'ECONNRESET'],
    ] as const) {
      await using server = await serve(word)
      const got = dial(server.port)
      await got.closed
      expect(got).toMatchObject({ text: '', code })
      expect(server.requests[0]?.status).toBeUndefined()
    }
  })

  it.each([
    ['event', 'fin'],
    ['event', 'rst'],
    ['character', 'fin'],
    ['character', 'rst'],
    ['crlf', 'fin'],
    ['crlf', 'rst'],
  ] as const)(
    'is inside the next %s with cutInside(), by %s, and that event was not delivered',
    async (where, by) => {
      await using server = await serve(send(2), cutInside(where, { by }))
      const got = await read(server.url)
      const code = got.code
      expect(code).toBe(by === 'rst' ? 'ECONNRESET' : 'UND_ERR_SOCKET')
      expect(server.sent()).toEqual([0, 1])
      const tail = got.bytes.subarray(got.bytes.lastIndexOf('\n\n') + 2)
      expect(tail.toString()).toContain(`id: ${server.log.idAt(2)}`)
      expect(tail.toString()).toContain('data: ')
      expect(tail.toString().endsWith('\uFFFD')).toBe(where === 'character')
      expect(tail.at(-1) === 0x0d).toBe(where === 'crlf')
      expect(server.faults).toMatchObject([{ kind: 'cutInside', detail: `${where} ${by}`, position: 2 }])
    },
  )

  it('can be inside a character even where the log has none', async () => {
    await using server = await FaultServer.start({
      log: { count: 1, bytes: 3 },
      script: [[cutInside('character')]],
    })
    expect((await read(server.url)).text).toMatch(/data: \uFFFD$/)
  })

  it('never comes with silence(), and heartbeats stop; with stay() they go on', async () => {
    for (const [last, quiet] of [
      [silence(), true],
      [stay(), false],
    ] as const) {
      await using server = await serve(heartbeats({ everyMs: 10 }), send(1), last)
      const got = dial(server.port)
      await until(() => got.text.includes('data:'))
      await sleep(50)
      const before = got.text.length
      await sleep(150)
      expect(got.text.length === before).toBe(quiet)
      expect(got.ended).toBe(false)
      got.socket.destroy()
      await server.waitForClose(0)
      expect(server.requests[0]?.closedBy).toBe('client')
    }
  })
})

describe('instead of a stream', () => {
  it('there is no answer with noHeaders(), and nothing after the headers with headersOnly()', async () => {
    await using server = await FaultServer.start({ script: [[noHeaders()], [headersOnly()]] })
    const none = dial(server.port)
    await server.waitForRequests(1)
    const some = dial(server.port)
    await until(() => some.text.includes('\r\n\r\n'))
    await sleep(50)
    expect(none.text).toBe('')
    expect(some.text).toContain('200 OK')
    expect(some.text.endsWith('\r\n\r\n')).toBe(true)
    expect(server.requests.map(request => request.status)).toEqual([undefined, 200])
    none.socket.destroy()
    some.socket.destroy()
  })

  it('answers any status with any headers, body and reason', async () => {
    const date = 'Wed, 21 Oct 2026 07:28:00 GMT'
    const script = [
      [answer(503, { headers: { 'Retry-After': '1' }, body: '<html>busy</html>' })],
      [answer(429, { headers: { 'retry-after': date }, body: 'slow down' })],
      [answer(204)],
      [answer(200, { headers: { 'content-type': 'text/event-stream' }, body: 'data: x\n\n' })],
      [answer(599, { reason: 'Made Up' })],
    ]
    await using server = await FaultServer.start({ script })
    const busy = await read(server.url)
    expect([busy.status, busy.headers.get('retry-after'), busy.text]).toEqual([503, '1', '<html>busy</html>'])
    expect(busy.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const slow = await read(server.url)
    expect([slow.headers.get('retry-after'), slow.headers.get('content-type')]).toEqual([
      date,
      'text/plain; charset=utf-8',
    ])
    const empty = await read(server.url)
    expect([empty.status, empty.text, empty.headers.get('content-length')]).toEqual([204, '', null])
    const finite = await read(server.url)
    expect([finite.headers.get('content-type'), finite.text]).toEqual(['text/event-stream', 'data: x\n\n'])
    const odd = dial(server.port)
    await until(() => odd.text.includes('\r\n\r\n'))
    expect(odd.text).toMatch(/^HTTP\/1\.1 599 Made Up\r\n/)
    odd.socket.destroy()
    expect(server.requests.map(request => request.status)).toEqual([503, 429, 204, 200, 599])
  })

  it('redirects to a path, to another origin, to itself and to nowhere', async () => {
    const script = [
      [redirect('/other')],
      [redirect('http://localhost:1/x', 307)],
      [redirect('@self')],
      [redirect()],
    ]
    await using server = await FaultServer.start({ script })
    const got = []
    for (let i = 0; i < 4; i++) got.push(await read(`${server.url}?q=1`))
    expect(got.map(one => one.status)).toEqual([302, 307, 302, 302])
    expect(got.map(one => one.headers.get('location'))).toEqual([
      '/other',
      'http://localhost:1/x',
      '/events?q=1',
      null,
    ])
  })

  it('sends something that is not HTTP with garbage()', async () => {
    await using server = await serve(garbage())
    await expect(read(server.url)).rejects.toThrow('fetch failed')
  })
})

describe('between two connections', () => {
  it('the port refuses for a while after refuse(ms), from the moment the client sees the end', async () => {
    await using server = await FaultServer.start({ script: [[send(1), reset(), refuse(600)]] })
    await read(server.url)
    const before = performance.now()
    const refused = dial(server.port)
    await refused.closed
    expect(refused.code).toBe('ECONNREFUSED')
    for (;;) {
      const again = dial(server.port)
      await Promise.race([again.closed, until(() => again.text !== '')])
      again.socket.destroy()
      if (again.text !== '') break
      await sleep(10)
    }
    expect(performance.now() - before).toBeGreaterThan(300)
    expect(server.requests).toHaveLength(2)
    expect(server.faults.map(fault => fault.kind)).toEqual(['reset', 'refuse'])
  })
})

describe('flapping', () => {
  it('ends after each event, resets after a greeting, or ends after an error event', async () => {
    await using server = await FaultServer.start({
      script: [flapping('event'), flapping('greeting'), flapping('error')],
    })
    const one = await read(server.url)
    expect([parse(one.text).length, one.error]).toEqual([1, undefined])
    const two = await read(server.url)
    expect([parse(two.text)[0]?.event, two.code]).toEqual(['greeting', 'ECONNRESET'])
    expect((await read(server.url)).text).toBe('retry: 0\n\nevent: error\ndata: internal error\n\n')
  })
})

describe('a script', () => {
  it.each<[string, Step[]]>([
    ['script[0][0].count: expected an integer of 0 or more (send), got -1', [send(-1)]],
    ['script[0][1].do: expected one of', [send(1), { do: 'explode' } as unknown as Step]],
    ['script[0][0]: expected a step', ['send' as unknown as Step]],
    ['script[0][1]: expected refuse, restart, forget or nothing after end', [end(), send(1)]],
    ['script[0][1]: expected this word in place of a body', [send(1), answer(500)]],
    ['script[0][0].typo: expected no such field', [{ do: 'end', typo: 1 } as unknown as Step]],
    ['script[0][0].status', [answer(99)]],
    ['script[0][0].headers', [answer(500, { headers: { 'bad name': 'x' } })]],
    ['script[0][0].jitter', [heartbeats({ everyMs: 5, jitter: 2 })]],
    ['script[0][0].text: expected one line', [comment('a\nb')]],
    ['script[0][0].ending', [lineEnding('x' as '\n')]],
    ['script[0][1].ms', [event({ data: '' }), { do: 'wait', ms: Number.POSITIVE_INFINITY }]],
  ])('that cannot be played is refused at the start: %s', async (message, script) => {
    await expect(serve(...script)).rejects.toThrow(message)
  })

  it('is plain data, the same after a trip through JSON', () => {
    const script = [
      answer(503),
      redirect(),
      refuse(),
      heartbeats({ everyMs: 1 }),
      event({ data: 'x' }),
      reset(),
    ]
    expect(JSON.parse(JSON.stringify(script))).toStrictEqual(script)
  })
})
