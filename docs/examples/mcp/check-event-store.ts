// What any event store must do, as checks that need no test runner. Each failure is one that clients suffer from.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert'
import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

export interface Subject {
  /** A new, empty store. */
  create: () => EventStore
  /** What a new process makes of what the one before had stored, without having closed it. */
  reopen: (before: EventStore) => EventStore
  /** How many events one stream keeps, at the most. */
  limit: number
}

/** What is wrong with the store under each of the names in `CHECKS`; `undefined` for nothing. */
export async function checkEventStore(subject: Subject): Promise<Map<string, string | undefined>> {
  const results = new Map<string, string | undefined>()
  for (const [name, check] of Object.entries(CHECKS)) {
    const failure = await check(subject).then(
      () => undefined,
      (error: Error) => error.message,
    )
    results.set(name, failure)
  }
  return results
}

/** A priming event, as the SDKs store it: a place to resume from, and no message. */
const PRIMING = {} as JSONRPCMessage
/** The stream of GET, as both SDK lines call it. */
const STANDALONE = '_GET_stream'
/** More than happen in a millisecond, so that some share one. */
const MANY = 500

type Check = (subject: Subject) => Promise<unknown>

export const CHECKS: Record<string, Check> = {
  'keeps the order of events within a millisecond': async ({ create }) => {
    const store = create()
    const cursor = await store.storeEvent('s', PRIMING)
    const sent = await storeAll(store, 's', 50)
    deepStrictEqual((await replay(store, cursor)).ids, sent)
  },

  'settles calls in the order in which they were made': async ({ create }) => {
    const store = create()
    const calls = Array.from({ length: 50 }, (_, n) => n)
    const settled: number[] = []
    await Promise.all(calls.map(n => store.storeEvent('s', message(n)).then(() => settled.push(n))))
    deepStrictEqual(settled, calls)
  },

  'gives an id once, on whatever stream': async ({ create }) => {
    const store = create()
    const ids = await Promise.all(
      Array.from({ length: MANY }, (_, n) => store.storeEvent(`s${n % 7}`, message(n))),
    )
    strictEqual(new Set(ids).size, MANY)
  },

  'makes ids that a header can carry': async ({ create }) => {
    const store = create()
    for (const stream of ['7d3f0c1e-5f0b-4c1a-9a57-0e6f3a1c2b4d', STANDALONE])
      ok(/^[\x21-\x7e]{1,256}$/.test(await store.storeEvent(stream, PRIMING)))
  },

  'replays the messages as they were stored': async ({ create }) => {
    const store = create()
    const cursor = await storeApart(store, 's', PRIMING)
    const sent = message('line\nfeed, "quotes", ü, \u2028, 漢')
    await storeApart(store, 's', sent)
    deepStrictEqual((await replay(store, cursor)).messages, [sent])
  },

  'replays the stream of the cursor and no other': async ({ create }) => {
    const store = create()
    const cursor = await storeApart(store, 's', message(1))
    await storeApart(store, 's2', message('of another call'))
    const next = await storeApart(store, 's', message(2))
    deepStrictEqual((await replay(store, cursor)).ids, [next])
  },

  'replays the standalone stream': async ({ create }) => {
    const store = create()
    const cursor = await storeApart(store, STANDALONE, message(1))
    const next = await storeApart(store, STANDALONE, message(2))
    deepStrictEqual(await replay(store, cursor), {
      ids: [next],
      messages: [message(2)],
      streamId: STANDALONE,
    })
  },

  'resumes from a priming event, and replays none': async ({ create }) => {
    const store = create()
    const cursor = await storeApart(store, 's', PRIMING)
    await storeApart(store, 's', message(1))
    await storeApart(store, 's', PRIMING)
    await storeApart(store, 's', message(2))
    deepStrictEqual((await replay(store, cursor)).messages, [message(1), message(2)])
  },

  'has nothing to replay after the newest event, and says of which stream': async ({ create }) => {
    const store = create()
    const cursor = await storeApart(store, 's', message(1))
    deepStrictEqual(await replay(store, cursor), { ids: [], messages: [], streamId: 's' })
  },

  'replays what is stored meanwhile': async ({ create }) => {
    const store = create()
    const cursor = await storeApart(store, 's', PRIMING)
    const sent = await storeAll(store, 's', 3, storeApart)
    const ids: string[] = []
    await store.replayEventsAfter(cursor, {
      send: async id => {
        ids.push(id)
        if (ids.length === 3) sent.push(await storeApart(store, 's', message('meanwhile')))
      },
    })
    deepStrictEqual(ids, sent)
  },

  'waits for each message of a replay to be sent, and fails when it cannot be': async ({ create }) => {
    const store = create()
    const cursor = await storeApart(store, 's', PRIMING)
    await storeAll(store, 's', 3, storeApart)
    let sending = 0
    const send = async () => {
      strictEqual(++sending, 1)
      await new Promise(resolve => setImmediate(resolve))
      sending--
    }
    await store.replayEventsAfter(cursor, { send })
    await rejects(store.replayEventsAfter(cursor, { send: () => Promise.reject(new Error('gone')) }))
  },

  'knows of which stream an id is': async ({ create }) => {
    const store = create()
    for (const stream of ['s', STANDALONE])
      strictEqual(await store.getStreamIdForEventId?.(await store.storeEvent(stream, message(1))), stream)
  },

  'does not take an unknown id for a known one': async ({ create }) => {
    const store = create()
    const foreign = await create().storeEvent('s', message('of another session'))
    await storeApart(store, 's', message(1))
    for (const id of [foreign, '', 's', '1', '../../etc/passwd', '__proto__', '\u00fc'])
      await unknown(store, id)
  },

  'is bounded, and what it has dropped is unknown': async ({ create, limit }) => {
    const store = create()
    const [first = '', second = ''] = await storeAll(store, 's', limit + 1)
    await unknown(store, first)
    strictEqual((await replay(store, second)).ids.length, limit - 1)
  },

  'survives its process: cursors, order, and no id twice': async ({ create, reopen }) => {
    const store = create()
    const cursor = await store.storeEvent('s', PRIMING)
    const sent = await storeAll(store, 's', 20)
    const next = reopen(store)
    sent.push(...(await storeAll(next, 's', 20)))
    deepStrictEqual((await replay(next, cursor)).ids, sent)
    strictEqual(new Set(sent).size, 40)
  },
}

function message(data: unknown): JSONRPCMessage {
  return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } }
}

async function storeOne(store: EventStore, stream: string, message: JSONRPCMessage): Promise<string> {
  return store.storeEvent(stream, message)
}

/** In a millisecond of its own: what happens within one is the affair of one check. */
async function storeApart(store: EventStore, stream: string, message: JSONRPCMessage): Promise<string> {
  const id = await store.storeEvent(stream, message)
  for (const now = Date.now(); Date.now() === now; ) await new Promise(resolve => setImmediate(resolve))
  return id
}

async function storeAll(
  store: EventStore,
  stream: string,
  count: number,
  storeNext = storeOne,
): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push(await storeNext(store, stream, message(n)))
  return ids
}

async function replay(store: EventStore, cursor: string) {
  const ids: string[] = []
  const messages: JSONRPCMessage[] = []
  const streamId = await store.replayEventsAfter(cursor, {
    send: async (id, message) => {
      ids.push(id)
      messages.push(message)
    },
  })
  return { ids, messages, streamId }
}

/** The SDKs answer 400 when no stream is named. Without that method, and without an error, they open a stream to nowhere. */
async function unknown(store: EventStore, id: string): Promise<void> {
  strictEqual(await store.getStreamIdForEventId?.(id), undefined)
  await rejects(replay(store, id))
}
