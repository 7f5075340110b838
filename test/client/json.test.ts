import { describe, expect, test } from 'vitest'
import { SseError } from '../../src/errors.ts'
import { RecordingStore } from './recording-store.ts'
import { open, World } from './world.ts'

describe('json()', () => {
  const schema = {
    '~standard': {
      validate: (value: unknown) =>
        typeof (value as { n?: unknown }).n === 'number'
          ? { value: value as { n: number } }
          : { issues: [{ message: 'Expected number', path: [{ key: 'n' }] }] },
    },
  }

  test('parses the data, and keeps id and event', async () => {
    const world = new World(() => open('id: 1\nevent: e\ndata: {"n": 1}\n\n'))
    const events = world.stream().stream.json(schema)
    expect((await events.next()).value).toEqual({ data: { n: 1 }, id: '1', event: 'e' })
  })

  test.each([
    ['that is not JSON', 'id: 7\ndata: {oops\n\n', /^The event "7" holds data that is not JSON$/],
    [
      'that does not match',
      'id: 7\ndata: {}\n\n',
      /^The event "7" does not match the schema \(n: Expected number\)$/,
    ],
    ['without an id', 'data: {}\n\n', /^An event without id does not match/],
  ])('ends the stream at data %s, naming the id', async (_, text, message) => {
    const world = new World(() => open(text))
    const { stream } = world.stream()
    const events = stream.json(schema)
    await expect(events.next()).rejects.toMatchObject({
      code: 'ERR_SSE_JSON',
      message: expect.stringMatching(message),
    })
    expect(stream.state).toBe('closed')
  })

  test('leaves the event that did not fit unacknowledged', async () => {
    const store = new RecordingStore()
    const world = new World(() => open('id: 1\ndata: 1\n\nid: 2\ndata: {\n\n'))
    const events = world.stream({ resume: { store } }).stream.json()
    await events.next()
    await expect(events.next()).rejects.toBeInstanceOf(SseError)
    expect(store.stored).toBe('1')
  })

  test('works without a schema, and ends with break', async () => {
    const world = new World(() => open('data: [1]\n\n'))
    const { stream } = world.stream()
    for await (const { data } of stream.json()) {
      expect(data).toEqual([1])
      break
    }
    expect(stream.state).toBe('closed')
  })
})
