import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { EventFolder } from '../../docs/examples/mcp/event-folder.ts'

const outside = () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-event-folder-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}
function open(folder: string): EventFolder {
  const onError = (error: Error) => {
    throw error
  }
  const events = new EventFolder(folder, { onError })
  onTestFinished(() => events.close())
  return events
}

test('has what was sent in a session, and nothing outside of itself, whatever the name of the session', async () => {
  const folder = outside()
  const events = open(join(folder, 'inner'))
  const note = { jsonrpc: '2.0', method: 'notifications/message' } as const
  for (const session of ['known', '../outer']) await events.create(session).storeEvent('s', note)
  expect(readdirSync(folder)).toContain('outer.events')
  expect(await events.earlier('known')).toBeDefined()
  for (const session of ['../outer', 'absent', '', 'known.events', 'k'.repeat(10_000)])
    expect([session, await events.earlier(session)]).toEqual([session, undefined])
})

test('loses files of sessions that nobody has written to for a day, and no other file', () => {
  const folder = outside()
  const age = (name: string, hours: number) => {
    writeFileSync(join(folder, name), '')
    const then = Date.now() / 1_000 - hours * 3_600
    utimesSync(join(folder, name), then, then)
  }
  age('old.events', 25)
  age('half.events.new', 25)
  age('young.events', 23)
  age('notes.txt', 1_000)
  open(folder)
  expect(readdirSync(folder).sort()).toEqual(['notes.txt', 'owner', 'young.events'])
})
