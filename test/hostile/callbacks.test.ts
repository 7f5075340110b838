import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EventSource } from '../../src/adapters/eventsource.ts'
import { resilientFetch } from '../../src/adapters/fetch.ts'
import { ResilientSse } from '../../src/resilient-sse.ts'
import { STREAM, textOf } from '../adapters/fetch-body.ts'
import { finite, serve, stream } from '../adapters/server.ts'
import { sleep, until } from '../faults/support.ts'

/** What a user's function answers that was made async by mistake, and fails. */
const fails = (): Promise<never> => Promise.reject(new Error('of the user'))
const ASYNC = fails as never

const TEXT = 'retry: 100\n\nid: 1\ndata: a\n\nid: 2\ndata: b\n\n'
const DELAYS = { backoff: { baseMs: 1, maxMs: 1 } }

describe('a function that is async by mistake and fails ends no process:', () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => unhandled.push(reason)
  beforeEach(() => void process.on('unhandledRejection', note))
  afterEach(async () => {
    await sleep(5)
    process.off('unhandledRejection', note)
    expect(unhandled.splice(0)).toEqual([])
  })

  test.each(['onComment', 'onRetry', 'onLifecycle'] as const)('%s', async name => {
    await using server = await serve(finite(`:c\n${TEXT}`))
    const { length } = await allOf(new ResilientSse(server.url, { [name]: fails, reconnectOnEnd: false }))
    expect(length).toBe(2)
  })

  test.each([
    ['isRetryable', { isRetryable: ASYNC }],
    ['resume.isNext', { resume: { isNext: ASYNC } }],
  ])('%s, which is refused', async (name, options) => {
    await using server = await serve(finite(TEXT))
    await expect(allOf(new ResilientSse(server.url, { ...DELAYS, ...options }))).rejects.toMatchObject({
      code: 'ERR_SSE_OPTION',
      message: expect.stringContaining(name),
    })
  })

  test.each(['onRetry', 'onLifecycle'] as const)('%s of resilientFetch', async name => {
    await using server = await serve(finite(TEXT))
    expect(await textOf(await resilientFetch({ [name]: fails })(server.url, STREAM))).toBe(TEXT)
  })

  test('errorFilter of EventSource, whose promise is true', async () => {
    await using server = await serve(finite(TEXT))
    const source = new EventSource(server.url, { ...DELAYS, errorFilter: ASYNC })
    await until(() => server.requests.length > 1, 'it dialled again')
    source.close()
  })

  test('heartbeat.timeoutMs, in whose place autoMs holds', async () => {
    await using server = await serve(stream('data: a\n\n'))
    const source = new ResilientSse(server.url, { heartbeat: { timeoutMs: ASYNC } })
    await source[Symbol.asyncIterator]().next()
    expect(source.stats().heartbeat.timeoutMs).toBe(120_000)
    await source.close()
  })
})

test('a timeoutMs function that throws keeps no other stream from being judged', async () => {
  await using server = await serve(stream('data: a\n\n'))
  const heartbeat = {
    timeoutMs: () => {
      throw new Error('of the user')
    },
  }
  const drops: string[] = []
  const streams = [heartbeat, { timeoutMs: 50 }].map(
    (heartbeat, index) =>
      new ResilientSse(server.url, {
        ...DELAYS,
        heartbeat,
        onLifecycle: ({ type }) => type === 'drop' && drops.push(`${type} ${index}`),
      }),
  )
  const loops = streams.map(allOf)
  await until(() => drops.length > 0, 'the silent stream was judged')
  expect(new Set(drops)).toEqual(new Set(['drop 1']))
  for (const each of streams) await each.close()
  await Promise.all(loops)
})

test('nothing is told of a retry: field behind the one at which the stream was closed', async () => {
  await using server = await serve(stream('retry: 1\n\nretry: 2\n\ndata: a\n\n'))
  const told: number[] = []
  const source: ResilientSse = new ResilientSse(server.url, {
    onRetry: ms => {
      told.push(ms)
      void source.close()
    },
  })
  expect(await allOf(source)).toEqual([])
  expect(told).toEqual([1])
})

async function allOf(source: ResilientSse): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const event of source) events.push(event)
  return events
}
