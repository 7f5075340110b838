import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js'
import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, describe, expect, test } from 'vitest'
import { CHECKS, checkEventStore, type Subject } from '../../docs/examples/mcp/check-event-store.ts'
import { eventOf, MemoryEventStore } from '../../docs/examples/mcp/event-store.ts'
import { FileEventStore } from '../../docs/examples/mcp/file-event-store.ts'
import { read } from '../docs/markdown.ts'

const folder = mkdtempSync(join(tmpdir(), 'mcp-event-store-'))
afterAll(() => rmSync(folder, { recursive: true }))

const files = new Map<EventStore, string>()
function open(file = join(folder, `${files.size}.events`)): FileEventStore {
  const onError = (error: Error) => {
    throw error
  }
  const store = new FileEventStore(file, { onError })
  files.set(store, file)
  return store
}

const SUBJECTS: Record<string, Subject> = {
  memory: { create: () => new MemoryEventStore(), reopen: () => new MemoryEventStore(), limit: 100 },
  file: { create: () => open(), reopen: before => open(files.get(before)), limit: 100 },
  'the SDK’s': {
    create: () => new InMemoryEventStore(),
    reopen: () => new InMemoryEventStore(),
    limit: 5_000,
  },
}

/** What a page shows of a store: for each check whether it passes. */
const verdicts = async (subject: Subject) =>
  Object.fromEntries(
    [...(await checkEventStore(subject))].map(([check, failure]) => [check, failure === undefined]),
  )

describe('what every event store must do', () => {
  test('the one in a file does', async () => {
    expect([...(await checkEventStore(SUBJECTS.file as Subject))].filter(([, failure]) => failure)).toEqual(
      [],
    )
  })

  test('the one in memory does, but for what needs a file', async () => {
    const failed = Object.entries(await verdicts(SUBJECTS.memory as Subject)).filter(([, passed]) => !passed)
    expect(failed.map(([check]) => check)).toEqual(['survives its process: cursors, order, and no id twice'])
  })

  test('stands in docs/mcp-server.md, with the verdict on each of the three stores', async () => {
    const rows = [
      ...read('docs/mcp-server.md').matchAll(
        /^\| (.+?) \| .+? \| (yes|\*\*no\*\*) \| (yes|\*\*no\*\*) \| (yes|\*\*no\*\*) \|$/gm,
      ),
    ]
    const shown = Object.keys(SUBJECTS).map((_, column) =>
      Object.fromEntries(rows.map(([, check, ...cells]) => [check, cells[column] === 'yes'])),
    )
    expect(shown).toEqual(await Promise.all(Object.values(SUBJECTS).map(verdicts)))
  })
})

/** A right store but for what is replaced. */
function faulty(replace: (right: MemoryEventStore) => Partial<EventStore>): () => EventStore {
  return () => {
    const right = new MemoryEventStore()
    return {
      storeEvent: (stream, message) => right.storeEvent(stream, message),
      getStreamIdForEventId: id => right.getStreamIdForEventId(id),
      replayEventsAfter: (id, { send }) => right.replayEventsAfter(id, { send }),
      ...replace(right),
    }
  }
}

/** One whose replay is what `change` makes of the right one. */
const replaying = (change: (messages: [string, JSONRPCMessage][]) => [string, JSONRPCMessage][]) =>
  faulty(right => ({
    async replayEventsAfter(id, { send }) {
      const messages: [string, JSONRPCMessage][] = []
      const stream = await right.replayEventsAfter(id, {
        send: async (...message) => void messages.push(message),
      })
      for (const message of change(messages)) await send(...message)
      return stream
    },
  }))

class Numbered extends MemoryEventStore {
  constructor(readonly idOf: () => string) {
    super()
  }
  override async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = this.idOf()
    this.keep(eventOf(id, stream, message))
    return id
  }
}

let count = 0
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** By the check that has to find it. */
const FAULTY: Record<string, () => EventStore> = {
  'keeps the order of events within a millisecond': replaying(messages => messages.reverse()),
  'settles calls in the order in which they were made': faulty(right => ({
    storeEvent: async (...event) => {
      const id = await right.storeEvent(...event)
      await sleep(id.endsWith('7') ? 5 : 0)
      return id
    },
  })),
  'gives an id once, on whatever stream': () => new Numbered(() => String(Date.now())),
  'makes ids that a header can carry': () => new Numbered(() => `é${++count}`),
  'replays the messages as they were stored': replaying(messages =>
    messages.map(([id]) => [id, { jsonrpc: '2.0', method: 'notifications/message' }]),
  ),
  'replays the stream of the cursor and no other': faulty(right => ({
    storeEvent: (_, message) => right.storeEvent('all', message),
  })),
  'replays the standalone stream': faulty(right => ({
    replayEventsAfter: async (id, { send }) => {
      const stream = await right.getStreamIdForEventId(id)
      return stream?.startsWith('_') ? '' : right.replayEventsAfter(id, { send })
    },
  })),
  'resumes from a priming event, and replays none': replaying(messages => [
    ['p-1', {} as JSONRPCMessage],
    ...messages,
  ]),
  'has nothing to replay after the newest event, and says of which stream': faulty(right => ({
    replayEventsAfter: async (id, { send }) => (await right.replayEventsAfter(id, { send })) && '',
  })),
  'replays what is stored meanwhile': replaying(messages => messages),
  'waits for each message of a replay to be sent, and fails when it cannot be': faulty(right => ({
    replayEventsAfter: (id, { send }) =>
      right.replayEventsAfter(id, { send: async (...message) => void send(...message).catch(() => {}) }),
  })),
  'knows of which stream an id is': faulty(() => ({ getStreamIdForEventId: async () => 's' })),
  'does not take an unknown id for a known one': faulty(right => ({
    replayEventsAfter: (id, { send }) => right.replayEventsAfter(id, { send }).catch(() => ''),
  })),
  'is bounded, and what it has dropped is unknown': () => new MemoryEventStore({ events: 1_000 }),
  'survives its process: cursors, order, and no id twice': () => new MemoryEventStore(),
}

describe('a store with just one fault fails the check that is about it:', () => {
  test('each check has one', () => {
    expect(Object.keys(FAULTY)).toEqual(Object.keys(CHECKS))
  })

  test.each(Object.entries(FAULTY))('%s', async (check, create) => {
    const failures = await checkEventStore({ create, reopen: create, limit: 100 })
    expect(failures.get(check)).toBeDefined()
  })
})
