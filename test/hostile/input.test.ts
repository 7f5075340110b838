import { Readable } from 'node:stream'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createDecoder } from '../../src/decode.ts'
import { SseError } from '../../src/errors.ts'
import { ResilientSse } from '../../src/resilient-sse.ts'
import { Body, block, broken, open, URL_OF_EVENTS, World } from '../client/world.ts'

test('an empty chunk behind half a character does not make the decoder forget it', () => {
  const decoder = createDecoder()
  const chunks = [[0xe2, 0x82], [], [0x41], [0xe2, 0x82, 0xac]]
  expect(chunks.map(chunk => decoder.decode(new Uint8Array(chunk))).join('')).toBe('\ufffdA€')
})

test.each([
  ['an LF', '\n'],
  ['a CRLF', '\r\n'],
])('a blank line of %s that is cut in two leaves nothing to discard', async (_, newline) => {
  const text = `id: 1${newline}data: a${newline}${newline}`
  const body = new Body()
  for (const char of text + text.replace('1', '2')) body.send(char)
  const world = new World([() => body.end().response(), () => open()])
  const consumer = world.stream().run()
  await world.pass(5_000)
  expect(consumer.tellings('drop')[0]).toMatchObject({ events: 2, discardedChars: 0 })
})

describe('a proxy that is none', () => {
  const refusal = (proxy: unknown): unknown => {
    try {
      new ResilientSse(URL_OF_EVENTS, { tcp: { proxy: proxy as string } })
    } catch (error) {
      return error
    }
    return undefined
  }

  test.each(['http://user:hunter2@proxy:99999', 'http://user:hunter2@[', 'http://us er:hunter2@a b'])(
    'because nobody can parse it is refused without being repeated: %s',
    proxy => {
      const error = refusal(proxy)
      expect(error).toMatchObject({ code: 'ERR_SSE_OPTION' })
      expect(inspect(error)).not.toContain('hunter2')
    },
  )

  test.each([Object.create(null), 7, Symbol('proxy'), {}])('because of its type is refused', proxy => {
    expect(refusal(proxy)).toBeInstanceOf(SseError)
  })
})

describe('json()', () => {
  test("with ack: 'manual' hands out events that can be acknowledged", async () => {
    const world = new World([() => open(block(1, '{}') + block(2, '{}'))])
    const saved: string[] = []
    const { stream } = world.stream({
      resume: { ack: 'manual', store: { load: () => undefined, save: id => void saved.push(id) } },
    })
    const events = stream.json()
    for (const _ of [1, 2]) {
      const { value } = await events.next()
      if (value !== undefined) stream.ack(value)
      await world.settle()
    }
    expect(saved).toEqual(['1', '2'])
  })

  test('tells the event that does not fit, and not that the store failed meanwhile', async () => {
    const world = new World([() => open(block(1, '1') + block(2, 'no JSON'))])
    const save = () => {
      throw new Error('disk full')
    }
    const events = world.stream({ resume: { store: { load: () => undefined, save } } }).stream.json()
    await events.next()
    await expect(events.next()).rejects.toMatchObject({ code: 'ERR_SSE_JSON' })
  })
})

test('the id of a block without data counts, too, when an event without id follows in the same read', async () => {
  const world = new World([() => broken('id: 7\n\ndata: x\n\n'), () => open()])
  const consumer = world.stream().run()
  await world.pass(5_000)
  expect(consumer.stream.lastEventId).toBe('7')
  expect(world.lastEventIds).toEqual([null, '7'])
})

describe('a fetch of another kind ends the stream at once, with its own name', () => {
  const headers = new Headers({ 'content-type': 'text/event-stream' })
  const strings = new ReadableStream({ start: controller => controller.enqueue('data: x\n\n') })
  const answers: [gives: string, response: unknown][] = [
    ['nothing', undefined],
    ['an object', {}],
    ['a Node stream', { status: 200, headers, body: Readable.from(['data: x\n\n']) }],
    ['texts', { status: 200, headers, body: strings }],
  ]

  test.each(answers)('%s', async (_, response) => {
    const world = new World(() => response as Response)
    const consumer = world.stream().run()
    await world.pass(60_000)
    expect(consumer.error).toMatchObject({
      code: 'ERR_SSE_REQUEST',
      message: expect.stringMatching(/^fetch: /),
    })
    expect(world.dials).toHaveLength(1)
  })
})
