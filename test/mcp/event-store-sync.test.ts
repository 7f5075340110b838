import { fsyncSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { FileEventStore } from '../../docs/examples/mcp/file-event-store.ts'

vi.mock('node:fs', async original => {
  const fs = await original<typeof import('node:fs')>()
  return { ...fs, fsyncSync: vi.fn(fs.fsyncSync) }
})

test.each([
  [true, 'each event is on the disk before it is sent, and the file and its folder when it is rewritten', 4],
  [false, 'no event waits for the disk', 0],
])('with sync: %s %s', async (sync, _, times) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-event-store-sync-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  vi.mocked(fsyncSync).mockClear()
  const onError = (error: Error) => {
    throw error
  }
  const store = new FileEventStore(join(folder, 'session.events'), { sync, onError })
  for (const data of ['one', 'two', 'three'])
    await store.storeEvent('s', { jsonrpc: '2.0', method: 'notifications/message', params: { data } })
  expect(fsyncSync).toHaveBeenCalledTimes(times)
})
