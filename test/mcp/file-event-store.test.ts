import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { LIMITS, MemoryEventStore } from '../../docs/examples/mcp/event-store.ts'
import { FileEventStore, type FileOptions } from '../../docs/examples/mcp/file-event-store.ts'

let folder: string
let file: string
let errors: string[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-file-event-store-'))
  file = join(folder, 'session.events')
  errors = []
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})

const OPTIONS: FileOptions = { onError: error => void errors.push(error.message) }
const open = (options: Partial<FileOptions> = {}) => new FileEventStore(file, { ...OPTIONS, ...options })

const note = (data: unknown): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data },
})
const answerTo = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: {} })

async function storeAll(store: MemoryEventStore, stream: string, ...data: unknown[]): Promise<string[]> {
  return Promise.all(data.map(one => store.storeEvent(stream, note(one))))
}

/** What is replayed after this id: data of notifications, and other messages as they are. */
async function replayed(store: MemoryEventStore, id: string): Promise<unknown[]> {
  const messages: unknown[] = []
  await store.replayEventsAfter(id, {
    send: async (_, message) => {
      messages.push('params' in message ? message.params?.data : message)
    },
  })
  return messages
}

describe('what was half written when the process was killed', () => {
  test.each([
    ['half a line', '{"id":"00000000-9","streamId":"s","op'],
    ['half a character', Buffer.from('{"id":"ü').subarray(0, -1)],
    ['zeros', Buffer.alloc(100)],
    ['a line without its line feed', '{"id":"00000000-9","streamId":"s","open":[],"message":{}}'],
  ])('is dropped, and nothing is glued to it: %s', async (_, torn) => {
    const [cursor = ''] = await storeAll(open(), 's', 'one', 'two')
    writeFileSync(file, torn, { flag: 'a' })
    await storeAll(open(), 's', 'three')
    expect(await replayed(open(), cursor)).toEqual(['two', 'three'])
    expect(errors).toEqual([])
  })

  test('may be everything: an empty file is a new one', async () => {
    writeFileSync(file, '')
    const [cursor = ''] = await storeAll(open(), 's', 'one', 'two')
    expect(await replayed(open(), cursor)).toEqual(['two'])
  })

  test('may be a rewrite: the file is as it was before, and is rewritten in its time', async () => {
    const [cursor = ''] = await storeAll(open(), 's', 'one', 'two')
    writeFileSync(`${file}.new`, 'half of i')
    expect(await replayed(open(), cursor)).toEqual(['two'])
    const [first = ''] = await storeAll(open(), 's', ...Array(2_000).fill('x'))
    const [last = ''] = await storeAll(open(), 's', 'last')
    expect(existsSync(`${file}.new`)).toBe(false)
    expect(await open().getStreamIdForEventId(first)).toBeUndefined()
    expect(await replayed(open(), last)).toEqual([])
  })
})

test('a line that is damaged is told of, and nothing is replayed across it', async () => {
  const [before = ''] = await storeAll(open(), 's', 'one', 'two')
  writeFileSync(file, '{"id":"dam\n', { flag: 'a' })
  const [later = ''] = await storeAll(open(), 's', 'three', 'four')
  expect(errors).toEqual([`${file}: line 4 is damaged; what was before it is unknown`])
  const store = open()
  expect(await store.getStreamIdForEventId(before)).toBeUndefined()
  expect(await replayed(store, later)).toEqual(['four'])
  // What is damaged is left behind by the next rewrite.
  expect(errors).toHaveLength(1)
})

test.each(['my notes\n', '{"format":"mcp-events","version":2}\n', '{}'])(
  'a file that is something else is refused and left as it is: %j',
  text => {
    writeFileSync(file, text)
    expect(open).toThrow(`${file} is not a file of MCP events`)
    expect(readFileSync(file, 'utf8')).toBe(text)
  },
)

test('the file is compacted: bounded, and all that may still be asked for is in it', async () => {
  const store = open({ limits: { events: 50 } })
  const [old = ''] = await storeAll(store, 'quiet', 'kept')
  const sizes: number[] = []
  for (let round = 0; round < 200; round++) {
    await storeAll(store, 'busy', ...Array.from({ length: 100 }, (_, n) => `${round} ${n}`))
    sizes.push(statSync(file).size)
  }
  // 50 lines of some 150 characters, twice, and the slack of 64 KiB.
  expect(Math.max(...sizes)).toBeLessThan(100_000)
  expect(existsSync(`${file}.new`)).toBe(false)
  const next = open({ limits: { events: 50 } })
  expect(await next.getStreamIdForEventId(old)).toBe('quiet')
  const all = readFileSync(file, 'utf8').matchAll(/"id":"(\S+?)","streamId":"busy"/g)
  const known = []
  for (const [, id = ''] of all) if (await next.getStreamIdForEventId(id)) known.push(id)
  expect(known).toHaveLength(50)
  expect(await replayed(next, known[0] as string)).toEqual(
    Array.from({ length: 49 }, (_, n) => `199 ${51 + n}`),
  )
})

test('the file of a session that has ended stays away, whatever a call still says', async () => {
  const store = open()
  await storeAll(store, 's', 'one')
  store.remove()
  await storeAll(store, 's', 'two')
  expect([existsSync(file), errors]).toEqual([false, []])
})

test('the file is for its owner’s eyes', async () => {
  await storeAll(open(), 's', 'one')
  expect(statSync(file).mode & 0o077).toBe(0)
})

describe('a write that fails', () => {
  test('is one to a file that was removed: it is written as a whole by the next', async () => {
    const store = open()
    const [cursor = ''] = await storeAll(store, 's', 'one')
    rmSync(file)
    await storeAll(store, 's', 'two')
    expect([existsSync(file), errors]).toEqual([false, [expect.stringContaining('ENOENT')]])
    await storeAll(store, 's', 'three')
    expect(await replayed(open(), cursor)).toEqual(['two', 'three'])
  })

  test('is told once; messages are sent all the same, and the file has no hole when it can be written again', async () => {
    const store = open()
    const [cursor = ''] = await storeAll(store, 's', 'one')
    rmSync(folder, { recursive: true })
    await storeAll(store, 's', 'two', 'three')
    expect(errors).toEqual([expect.stringContaining('ENOENT')])
    expect(await replayed(store, cursor)).toEqual(['two', 'three'])
    mkdirSync(folder)
    await storeAll(store, 's', 'four')
    expect(await replayed(open(), cursor)).toEqual(['two', 'three', 'four'])
    rmSync(folder, { recursive: true })
    await storeAll(store, 's', 'five')
    expect(errors).toHaveLength(2)
  })

  test.runIf(existsSync('/dev/full'))('may be a full disk', async () => {
    symlinkSync('/dev/full', `${file}.new`)
    await storeAll(open(), 's', 'one')
    expect(errors).toEqual([expect.stringContaining('ENOSPC')])
    expect(existsSync(file)).toBe(false)
  })

  test('leaves ids that no later process gives to another event', async () => {
    const store = open()
    await storeAll(store, 's', 'one')
    rmSync(folder, { recursive: true })
    const lost = await storeAll(store, 's', 'two')
    mkdirSync(folder)
    const next = await storeAll(open(), 's', 'three', 'four', 'five')
    expect(next).not.toContain(lost[0])
    expect(await open().getStreamIdForEventId(lost[0] as string)).toBeUndefined()
  })
})

describe('calls that were open when the process ended', () => {
  const ERROR = { code: -32_000, message: expect.stringContaining('restarted during this call') }

  test('are answered with an error, once, each on its stream', async () => {
    const store = open()
    const primings = await Promise.all(
      [1, 2, 3].map(id => store.during([id], () => store.storeEvent(`s${id}`, {} as JSONRPCMessage))),
    )
    await store.storeEvent('s2', answerTo(2))
    for (let process = 0; process < 2; process++) await open().endOpenCalls()
    const next = open()
    expect(await Promise.all(primings.map(id => replayed(next, id)))).toEqual([
      [{ jsonrpc: '2.0', id: 1, error: ERROR }],
      [answerTo(2)],
      [{ jsonrpc: '2.0', id: 3, error: ERROR }],
    ])
  })

  test('of a batch are answered one by one', async () => {
    const store = open()
    const priming = await store.during(['a', 'b', 'c'], () => store.storeEvent('s', {} as JSONRPCMessage))
    await store.storeEvent('s', { jsonrpc: '2.0', id: 'b', result: {} })
    const next = open()
    await next.endOpenCalls()
    const ids = (await replayed(next, priming)).map(message => (message as { id: string }).id)
    expect(ids).toEqual(['b', 'a', 'c'])
  })

  test('are not those of the standalone stream, even when a call said something on it', async () => {
    const store = open()
    const cursor = await store.during([1], () => store.storeEvent('_GET_stream', note('one')))
    const next = open()
    await next.endOpenCalls()
    expect(await replayed(next, cursor)).toEqual([])
  })
})

describe('bounds', () => {
  test('are 100 events a stream, 1,000 streams and 16 million characters', () => {
    expect(LIMITS).toEqual({ events: 100, streams: 1_000, characters: 16_000_000 })
  })

  const known = async (store: MemoryEventStore, ids: string[]) =>
    (await Promise.all(ids.map(id => store.getStreamIdForEventId(id)))).map(Boolean)

  test('a stream that has its answer goes before a call that is open, the one that was silent longest first', async () => {
    const store = new MemoryEventStore({ streams: 3 })
    const silent = await store.storeEvent('silent', note(0))
    const answers = [await store.storeEvent('a', answerTo(1)), await store.storeEvent('b', answerTo(2))]
    await store.storeEvent('c', note(0))
    expect(await known(store, [silent, ...answers])).toEqual([true, false, true])
    await store.storeEvent('d', note(0))
    expect(await known(store, [silent, ...answers])).toEqual([true, false, false])
    await store.storeEvent('e', note(0))
    expect(await known(store, [silent])).toEqual([false])
  })

  test('a stream that is in use is kept before one that is not', async () => {
    const store = new MemoryEventStore({ streams: 2 })
    const ids = [await store.storeEvent('a', note(0)), await store.storeEvent('b', note(0))]
    await store.storeEvent('a', note(1))
    await store.storeEvent('c', note(0))
    expect(await known(store, ids)).toEqual([true, false])
  })

  test('an answer that was just stored is kept, even where all other calls are open', async () => {
    const store = new MemoryEventStore({ streams: 2 })
    const ids = [await store.storeEvent('a', note(0)), await store.storeEvent('b', note(0))]
    ids.push(await store.storeEvent('c', answerTo(3)))
    expect(await known(store, ids)).toEqual([false, true, true])
  })

  test('of events count those that are left', async () => {
    const store = new MemoryEventStore({ events: 3, characters: 10_000 })
    const ids = await storeAll(store, 's', 'x'.repeat(9_000), 'y'.repeat(9_000), 'z', 'z')
    expect(await known(store, ids)).toEqual([false, true, true, true])
  })

  test('of characters drop the oldest events, but never the one that was just stored', async () => {
    const store = new MemoryEventStore({ characters: 10_000 })
    const ids = await storeAll(store, 's', 'x'.repeat(4_000), 'y'.repeat(4_000), 'z'.repeat(4_000))
    expect(await known(store, ids)).toEqual([false, true, true])
    const large = await storeAll(store, 's2', 'x'.repeat(20_000))
    expect(await known(store, [...ids, ...large])).toEqual([false, false, false, true])
  })

  test('do not make a hole in a replay that is under way', async () => {
    const store = new MemoryEventStore({ events: 5 })
    const [cursor = ''] = await storeAll(store, 's', 0, 1, 2, 3)
    const seen: unknown[] = []
    await store.replayEventsAfter(cursor, {
      send: async (_, message) => {
        const { data } = ('params' in message ? message.params : {}) as { data: number }
        seen.push(data)
        if (data === 1) await storeAll(store, 's', 4, 5, 6, 7, 8, 9)
      },
    })
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
