import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Message } from './client.ts'
import { clientCalled } from './clients.ts'
import { DrivenStream, post } from './driver.ts'
import { type Service, startService } from './service.ts'

/** Set by npm run test:contract, where the service runs on the packed tarball in a process of its own. */
const running = process.env.CONTRACT_SERVICE
const client = clientCalled(process.env.CONTRACT_CLIENT ?? 'resilient-sse')
const AT_ONCE = { initialDelayMs: 0 }

let own: Service | undefined
let service = ''
const streams: DrivenStream[] = []

beforeAll(async () => {
  if (running === undefined) own = await startService(client)
  service = running ?? (own as Service).url
})
afterAll(() => own?.close())
afterEach(async () => {
  for (const stream of streams.splice(0)) await stream.close()
})

async function begin(
  ...settings: Parameters<typeof DrivenStream.begin> extends [string, ...infer Rest] ? Rest : never
) {
  const stream = await DrivenStream.begin(service, ...settings)
  streams.push(stream)
  return stream
}

const event = (data: string, rest: { type?: string; id?: string } = {}): Message => ({
  kind: 'event',
  event: { type: 'message', data, ...rest } as Extract<Message, { kind: 'event' }>['event'],
})

describe('events and comments', () => {
  it('are told in the order of the stream, with type, data and the id that holds', async () => {
    const stream = await begin()
    expect((await stream.command({ command: 'listen', listen: { type: 'greeting' } })).ok).toBe(true)
    const dial = await stream.dial()
    dial.send('event: greeting\nid: abc\ndata: Hello\ndata: World\n\n')
    dial.send('data: no id of its own\n\nid:\ndata\n\n')
    expect(await stream.messages(3)).toEqual([
      event('Hello\nWorld', { type: 'greeting', id: 'abc' }),
      event('no id of its own', { id: 'abc' }),
      event('', { id: '' }),
    ])
  })

  it('a comment is told at the end of its line', async () => {
    const stream = await begin()
    const dial = await stream.dial()
    dial.send(':Hello\n')
    expect(await stream.message()).toEqual({ kind: 'comment', comment: 'Hello' })
    dial.send(':World\ndata: then\n\n')
    expect(await stream.messages(2)).toEqual([{ kind: 'comment', comment: 'World' }, event('then')])
  })

  it('a comment that comes with the event before it is told after that event', async () => {
    const stream = await begin()
    const dial = await stream.dial()
    dial.send('data: first\n\n:second\n')
    expect(await stream.messages(2)).toEqual([event('first'), { kind: 'comment', comment: 'second' }])
  })

  it('a byte order mark is stripped once, at the start', async () => {
    const stream = await begin()
    const dial = await stream.dial()
    dial.send('\uFEFFdata: \uFEFFHello\n\n')
    expect(await stream.message()).toEqual(event('\uFEFFHello'))
  })

  it('a thousand events at once arrive in order', async () => {
    const stream = await begin()
    const dial = await stream.dial()
    const data = Array.from({ length: 1_000 }, (_, index) => `event ${index}`)
    dial.send(data.map(line => `data: ${line}\n\n`).join(''))
    expect(await stream.messages(1_000)).toEqual(data.map(line => event(line)))
  })

  it('fourteen million characters in one event are told whole', async () => {
    const stream = await begin()
    const dial = await stream.dial()
    const data = 'x'.repeat(14_000_000)
    dial.send(`data: ${data}\n\n`)
    const told = await stream.message()
    expect(told.kind === 'event' && told.event.data === data).toBe(true)
  })
})

describe('requests', () => {
  it('are a GET for an event stream unless the parameters say otherwise', async () => {
    const { method, headers } = await (await begin()).dial()
    expect(method).toBe('GET')
    expect(headers).toMatchObject({ accept: 'text/event-stream', 'cache-control': 'no-cache' })
    expect(headers).not.toHaveProperty('last-event-id')
  })

  it.each(['POST', 'REPORT'])('a %s carries headers and body, again on the next dial', async method => {
    const headers = { 'content-type': 'application/json; charset=utf-8', 'x-own': '1' }
    const stream = await begin({ ...AT_ONCE, method, headers, body: '{"hello":"world"}' })
    for (let dials = 0; dials < 2; dials++) {
      const dial = await stream.dial()
      expect(dial).toMatchObject({ method, headers, body: '{"hello":"world"}' })
      dial.break()
    }
  })

  it('the first one resumes after the given id', async () => {
    const { headers } = await (await begin({ lastEventId: 'abc' })).dial()
    expect(headers['last-event-id']).toBe('abc')
  })

  it.each([301, 307])('a %i is followed', async status => {
    const stream = await begin({}, response => response.writeHead(status, { location: '/moved' }).end())
    await stream.dial()
    const moved = await stream.dial()
    moved.send('data: hello\n\n')
    expect(await stream.message()).toEqual(event('hello'))
  })

  it.each([
    [301, {}],
    [301, { location: '' }],
    [307, {}],
    [307, { location: '' }],
  ])('a %i with %j as its Location is told as one error, and ends the stream', async (status, headers) => {
    const stream = await begin({}, response => response.writeHead(status, headers).end())
    expect(await stream.message()).toMatchObject({ kind: 'error' })
    await expectSilence(stream, 1)
  })

  it('a 204 ends the stream without an error', async () => {
    const stream = await begin(AT_ONCE, response => response.writeHead(204).end())
    await expectSilence(stream, 1)
  })
})

/** Nothing is told, and no more than `dials` requests are made in all, in the second that the public harness waits. */
async function expectSilence(stream: DrivenStream, dials: number): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, 1_000))
  expect(stream.dials.size).toBe(dials)
  expect(stream.untold).toBe(0)
}

describe('reconnecting', () => {
  it('after a break it is told as an error, and resumes after the last id', async () => {
    const stream = await begin(AT_ONCE)
    const first = await stream.dial()
    first.send('id: abc\ndata: Hello\n\ndata: World\n\nid: def\ndata: cut')
    expect(await stream.messages(2)).toEqual([event('Hello', { id: 'abc' }), event('World', { id: 'abc' })])
    first.break()
    expect(await stream.message()).toMatchObject({ kind: 'error', error: expect.any(String) })
    const second = await stream.dial()
    expect(second.headers['last-event-id']).toBe('abc')
    second.send('data: again\n\n')
    expect(await stream.message()).toEqual(event('again', { id: 'abc' }))
  })

  it('an id that the server emptied is not sent', async () => {
    const stream = await begin(AT_ONCE)
    const first = await stream.dial()
    first.send('id: abc\ndata: Hello\n\nid: \ndata: World\n\n')
    await stream.messages(2)
    first.break()
    expect((await stream.dial()).headers).not.toHaveProperty('last-event-id')
  })

  it('a restart dials again and is no error', async () => {
    const stream = await begin(AT_ONCE)
    await stream.dial()
    expect((await stream.command({ command: 'restart' })).ok).toBe(true)
    const second = await stream.dial()
    second.send('data: Thanks\n\n')
    expect(await stream.message()).toEqual(event('Thanks'))
  })

  it('silence longer than the read timeout is an error and a new request', async () => {
    const stream = await begin({ ...AT_ONCE, readTimeoutMs: 500 })
    const first = await stream.dial()
    first.send('data: Hello\n\n')
    expect(await stream.message()).toEqual(event('Hello'))
    expect(await stream.message()).toMatchObject({ kind: 'error' })
    await stream.dial()
  })
})

describe('the service', () => {
  it('says which client it drives and what that can do', async () => {
    const status = await fetch(service)
    const { name, capabilities } = client
    expect(await status.json()).toEqual({ name, capabilities })
  })

  it('forgets a stream that was closed, and frees its connection', async () => {
    const stream = await begin()
    const dial = await stream.dial()
    expect((await stream.close()).status).toBe(204)
    await dial.gone
    expect((await stream.command({ command: 'restart' })).status).toBe(404)
    streams.length = 0
  })

  it('refuses what it does not understand', async () => {
    const stream = await begin()
    const statuses = [
      await stream.command({ command: 'dance' }),
      await post(service, 'no JSON'),
      await post(service, { streamUrl: 'no address', callbackUrl: service }),
      await post(service, { streamUrl: service, callbackUrl: service, initialDelayMs: -1 }),
      await fetch(service, { method: 'PUT' }),
    ].map(({ status }) => status)
    expect(statuses).toEqual([400, 400, 400, 400, 405])
  })
})
