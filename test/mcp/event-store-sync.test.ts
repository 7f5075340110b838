import { fsyncSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { FileEventStore } from '../../docs/examples/mcp/file-event-store.ts'

// How often the file is rewritten, and the disk waited for.

vi.mock('node:fs', async original => {
  const fs = await original<typeof import('node:fs')>()
  return { ...fs, fsyncSync: vi.fn(fs.fsyncSync), renameSync: vi.fn(fs.renameSync) }
})
beforeEach(() => void vi.clearAllMocks())

async function storeAll(sync: boolean, count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-event-store-sync-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const onError = (error: Error) => {
    throw error
  }
  const store = new FileEventStore(join(folder, 'session.events'), { sync, onError })
  for (let data = 0; data < count; data++)
    await store.storeEvent('s', { jsonrpc: '2.0', method: 'notifications/message', params: { data } })
}

test.each([
  [true, 'each event is on the disk before it is sent, and the file and its folder when it is rewritten', 4],
  [false, 'no event waits for the disk', 0],
])('with sync: %s %s', async (sync, _, times) => {
  await storeAll(sync, 3)
  expect(fsyncSync).toHaveBeenCalledTimes(times)
})

test('the file is rewritten once for hundreds of events', async () => {
  await storeAll(false, 5_000)
  expect(vi.mocked(renameSync).mock.calls.length).toBeGreaterThan(1)
  expect(vi.mocked(renameSync).mock.calls.length).toBeLessThan(15)
})
