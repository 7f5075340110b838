import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { claim } from '../../docs/examples/mcp/owner.ts'

vi.mock('node:fs', async original => {
  const fs = await original<typeof import('node:fs')>()
  return { ...fs, renameSync: vi.fn(fs.renameSync) }
})

describe('the owner of a folder', () => {
  let folder: string
  let file: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mcp-owner-'))
    file = join(folder, 'owner')
    onTestFinished(() => rmSync(folder, { recursive: true }))
  })

  /** One like this process, but for `values`. */
  function ownedBy(values: object): void {
    rmSync(file, { force: true })
    const release = claim(folder)
    const me = JSON.parse(readFileSync(file, 'utf8'))
    release()
    writeFileSync(file, JSON.stringify({ ...me, token: 'other', ...values }))
  }

  test('is one, in this process too, until it lets go', () => {
    const release = claim(folder)
    const by = `process ${process.pid} on ${hostname()}`
    expect(() => claim(folder)).toThrow(`${folder} is in use by ${by}; if that is gone, remove ${file}`)
    release()
    expect(readdirSync(folder)).toEqual([])
    claim(folder)()
  })

  test.each([
    ['another machine', { host: 'elsewhere' }],
    ['a process that lives', { pid: process.ppid }],
  ])('is not replaced when it is %s', (_, values) => {
    ownedBy(values)
    expect(() => claim(folder)).toThrow('is in use')
  })

  test.each([
    ['dead', { pid: 2 ** 22 + 1 }],
    ['of before a reboot', { pid: process.ppid, boot: 'earlier' }],
    ['of this number in an earlier container', {}],
  ])('is replaced when it is %s', (_, values) => {
    ownedBy(values)
    const release = claim(folder)
    expect(JSON.parse(readFileSync(file, 'utf8')).token).not.toBe('other')
    expect(readdirSync(folder)).toEqual(['owner'])
    release()
  })

  test('is not replaced when the file does not say who it is', () => {
    writeFileSync(file, '')
    expect(() => claim(folder)).toThrow(
      `${folder} is in use by another process; if that is gone, remove ${file}`,
    )
    expect(readdirSync(folder)).toEqual(['owner'])
  })

  test('is not replaced by one that found it dead, when a quicker one has taken its place', () => {
    ownedBy({ pid: 2 ** 22 + 1 })
    const rename = vi.mocked(renameSync).getMockImplementation() as typeof renameSync
    vi.mocked(renameSync).mockImplementationOnce((from, to) => {
      ownedBy({ pid: process.ppid, token: 'quicker' })
      rename(from, to)
    })
    expect(() => claim(folder)).toThrow('is in use by another process')
    expect(JSON.parse(readFileSync(file, 'utf8')).token).toBe('quicker')
    expect(readdirSync(folder)).toEqual(['owner'])
  })
})
