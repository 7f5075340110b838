import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { fileStore } from '../../src/stores/file.ts'
import { DEAD, directory, failureOf, leave, load, loader, path, windows } from './files.ts'

describe('what is kept', () => {
  test('a file that does not exist yet is a first run', async () => {
    expect(await load()).toBeUndefined()
  })

  test.each([
    ['a plain id', '1824'],
    ['the empty string, which is an emptied cursor', ''],
    ['characters of all planes', 'é日本\u{1F600}\u2028\uFEFF'],
    ['control characters', '\u0001\t\r\n\u001b[31m\u007f"\\'],
    ['half a surrogate pair', 'a\uD83Db\uDE00'],
    ['20,000 characters', 'x日'.repeat(10_000)],
    ['outer spaces', '  7  '],
    ['something that looks like a record', '{"v":1,"id":"2"}'],
  ])('%s comes back exactly', async (_, id) => {
    await leave(id)
    expect(await load()).toBe(id)
  })

  test('the file is one readable line with a version, the id, the time and a checksum', async () => {
    await leave('é7')
    const text = await readFile(path, 'utf8')
    expect(text).toMatch(
      /^\{"v":1,"id":"é7","savedAt":"\d{4}-\d\d-\d\dT[\d:.]+Z","check":"[0-9a-f]{16}"\}\n$/,
    )
  })

  test('saves that overlap are written in their order, and close waits for them', async () => {
    const store = fileStore(path)
    await store.load()
    const saves = Array.from({ length: 20 }, (_, i) => store.save(String(i)))
    await store.close?.()
    await Promise.all(saves)
    expect(await load()).toBe('19')
  })

  test('nothing but the cursor stays in the directory after close', async () => {
    await leave('7')
    expect(await readdir(directory)).toEqual(['cursor'])
  })

  test('temporary files of killed processes are removed at load, and no other file', async () => {
    const others = ['cursor.bak', 'cursor.tmp', 'cursor.0123.tmp', `other.${DEAD}.tmp`, `cursor.${DEAD}`]
    const leftovers = [`cursor.${DEAD}.tmp`, `cursor.lock.${DEAD}.tmp`, `cursor.lock.${DEAD}.${DEAD}`]
    await Promise.all([...others, ...leftovers].map(name => writeFile(join(directory, name), '')))
    await load()
    expect((await readdir(directory)).sort()).toEqual([...others, 'cursor.lock'].sort())
  })
})

describe('a file that cannot be read', () => {
  const whole = '{"v":1,"id":"7","savedAt":"2026-01-01T00:00:00.000Z","check":"0000000000000000"}\n'

  test.each([
    ['empty', ''],
    ['not JSON', '1824\n'],
    ['null', 'null\n'],
    ['a number', '7\n'],
    ['cut short', whole.slice(0, 40)],
    ['of the wrong checksum', whole],
    ['without an id', '{"v":1}\n'],
  ])('that is %s is refused and left as it is', async (_, text) => {
    await writeFile(path, text)
    expect((await failureOf(load())).message).toMatch(
      /is damaged or no cursor file: restore it, or remove it/,
    )
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test('in which one character of the id changed is refused', async () => {
    await leave('1824')
    await writeFile(path, (await readFile(path, 'utf8')).replace('"1824"', '"1825"'))
    expect((await failureOf(load())).message).toMatch(/damaged/)
  })

  test('of a later format asks for an update', async () => {
    await writeFile(path, '{"v":2,"cursor":"x"}\n')
    expect((await failureOf(load())).message).toMatch(/newer version of resilient-sse \(format 2\): update/)
  })

  test('that is a directory is refused', async () => {
    await mkdir(path)
    expect((await failureOf(load())).message).toMatch(/not a regular file: choose another path/)
  })

  test.skipIf(windows)('that is a named pipe is refused and not waited for', async () => {
    await promisify(execFile)('mkfifo', [path])
    expect((await failureOf(load())).message).toMatch(/not a regular file/)
  })

  test('in a directory that does not exist asks for the directory', async () => {
    const error = await failureOf(load(join(directory, 'missing', 'cursor')))
    expect(error.message).toMatch(/its directory does not exist: create it first/)
    expect(error.cause).toMatchObject({ code: 'ENOENT' })
  })

  test('below something that is no directory asks for another path', async () => {
    await writeFile(path, '')
    expect((await failureOf(load(join(path, 'cursor')))).message).toMatch(/not a directory/)
  })

  test.skipIf(windows)('that is a link to nothing, or to itself, is refused', async () => {
    await symlink(join(directory, 'gone'), path)
    expect((await failureOf(load())).message).toMatch(/link to nothing/)
    await unlink(path)
    await symlink(path, path)
    expect((await failureOf(load())).message).toMatch(/links lead in a circle/)
  })

  test.skipIf(windows)('without the right to read it names the rights', async () => {
    await leave('7')
    await chmod(path, 0o000)
    await chmod(directory, 0o777)
    // The rights of root have no limits, so root asks somebody else.
    const somebody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
    const { stdout } = await promisify(execFile)(process.execPath, [loader, path], somebody)
    expect(stdout).toMatch(/^ERR_SSE_STORE .*cursor cannot be used: this process may not read and write it/)
    expect(await readdir(directory)).toEqual(['cursor'])
    await chmod(directory, 0o555)
    const again = await promisify(execFile)(process.execPath, [loader, path], somebody)
    expect(again.stdout).toMatch(/^ERR_SSE_STORE .*this process may not read and write it and its directory/)
  })

  test('leaves no lock behind, so that it can be repaired while the process runs', async () => {
    await writeFile(path, 'garbage')
    const store = fileStore(path)
    await failureOf(store.load())
    await rm(path)
    expect(await store.load()).toBeUndefined()
    await store.close?.()
  })

  test('has a path: an empty one is refused at once', () => {
    expect(() => fileStore('')).toThrow(expect.objectContaining({ code: 'ERR_SSE_OPTION' }))
    expect(() => fileStore(undefined as unknown as string)).toThrow(
      expect.objectContaining({ code: 'ERR_SSE_OPTION' }),
    )
  })
})

describe('opening and closing', () => {
  test('save before load and after close rejects', async () => {
    const store = fileStore(path)
    expect((await failureOf(store.save('1'))).message).toMatch(/works between load\(\) and close\(\)/)
    await store.load()
    await store.save('2')
    await store.close?.()
    await failureOf(store.save('3'))
    expect(await load()).toBe('2')
  })

  test('close can be called twice, and without load', async () => {
    const store = fileStore(path)
    await store.close?.()
    await store.load()
    await Promise.all([store.close?.(), store.close?.()])
    await store.close?.()
  })

  test('load after close takes the lock again', async () => {
    const store = fileStore(path)
    await store.load()
    await store.save('1')
    await store.close?.()
    expect(await store.load()).toBe('1')
    await failureOf(load())
    await store.save('2')
    await store.close?.()
    expect(await load()).toBe('2')
  })

  test('a failed save names the path, leaves the old cursor and does not stop the next', async () => {
    await leave('1')
    const store = fileStore(path)
    await store.load()
    await rm(path)
    await mkdir(path)
    await failureOf(store.save('2'))
    await rm(path, { recursive: true })
    await store.save('3')
    await store.close?.()
    expect(await readdir(directory)).toEqual(['cursor'])
    expect(await load()).toBe('3')
  })

  test('many stores in one process add one exit listener, and none once they are closed', async () => {
    const before = process.listenerCount('exit')
    const stores = Array.from({ length: 20 }, (_, i) => fileStore(`${path}-${i}`))
    await Promise.all(stores.map(store => store.load()))
    expect(process.listenerCount('exit')).toBe(before + 1)
    await Promise.all(stores.map(store => store.close?.()))
    expect(process.listenerCount('exit')).toBe(before)
  })

  test('a process that exits without close leaves no lock', async () => {
    await leave('7')
    const { stdout } = await promisify(execFile)(process.execPath, [loader, path])
    expect(stdout).toBe('loaded 7\n')
    expect(await readdir(directory)).toEqual(['cursor'])
  })
})
