import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SseError } from '../../src/errors.ts'
import type { CursorStore } from '../../src/layers/resume.ts'
import { type FileStoreOptions, fileStore } from '../../src/stores/file.ts'

const linux = process.platform === 'linux'
const windows = process.platform === 'win32'
const DEAD = '0123456789abcdef'

let bundles: string
let saver: string
let taker: string
let loader: string
let directory: string
let path: string
let started: ChildProcessWithoutNullStreams[] = []
let opened: CursorStore[] = []

beforeAll(async () => {
  bundles = await mkdtemp(join(await realpath(tmpdir()), 'file-store-code-'))
  await build({
    entryPoints: [fileURLToPath(new URL('../../src/stores/file.ts', import.meta.url))],
    outfile: join(bundles, 'file.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
  })
  const script = async (name: string, code: string) => {
    const file = join(bundles, name)
    await writeFile(file, `import { fileStore } from './file.mjs'\nconst path = process.argv[2]\n${code}`)
    return file
  }
  saver = await script(
    'saver.mjs',
    `const store = fileStore(path)
let id = Number(await store.load() ?? 0)
process.stdout.write('loaded ' + id + '\\n')
for (;;) {
  await store.save(String(++id))
  process.stdout.write('saved ' + id + '\\n')
}`,
  )
  taker = await script(
    'taker.mjs',
    `import { createInterface } from 'node:readline'
const stores = [fileStore(path), fileStore(path)]
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'go') {
    const results = await Promise.allSettled(stores.map(store => store.load()))
    console.log(results.map(r => r.status === 'fulfilled' ? 'won' : /is in use by/.test(r.reason.message) ? 'lost' : r.reason.stack).join())
  } else if (line === 'close') {
    await Promise.all(stores.map(store => store.close()))
    console.log('closed')
  } else process.exit(0)
}`,
  )
  loader = await script(
    'loader.mjs',
    `await fileStore(path).load().then(id => console.log('loaded', id), e => console.log(e.code, e.message))
process.exit(0)`,
  )
  await chmod(bundles, 0o755)
})

afterAll(() => rm(bundles, { recursive: true, force: true }))

beforeEach(async () => {
  directory = await mkdtemp(join(await realpath(tmpdir()), 'file-store-'))
  path = join(directory, 'cursor')
})

afterEach(async () => {
  await Promise.all(started.map(kill))
  started = []
  await Promise.all(opened.map(store => store.close?.()))
  opened = []
  await chmod(directory, 0o755)
  await rm(directory, { recursive: true, force: true })
})

function run(script: string, file = path): { child: ChildProcessWithoutNullStreams; lines: Interface } {
  const child = spawn(process.execPath, [script, file])
  child.stdin.on('error', () => undefined)
  child.stderr.pipe(process.stderr)
  started.push(child)
  return { child, lines: createInterface({ input: child.stdout }) }
}

async function kill(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

async function line(lines: Interface): Promise<string> {
  return String((await once(lines, 'line'))[0])
}

async function failureOf(work: unknown): Promise<SseError> {
  const error = await Promise.resolve(work).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(SseError)
  expect(error).toMatchObject({ code: 'ERR_SSE_STORE' })
  expect((error as SseError).message).toContain(directory)
  return error as SseError
}

/** Opens a store that is closed after the test. */
async function load(file = path, options: FileStoreOptions = {}): Promise<string | undefined> {
  const store = fileStore(file, options)
  opened.push(store)
  return store.load()
}

/** Writes a cursor and lets go of the file. */
async function leave(id: string): Promise<void> {
  const store = fileStore(path)
  await store.load()
  await store.save(id)
  await store.close?.()
}

/** The lock as this very process would write it, then changed. */
async function plantLock(changes: Record<string, unknown> = {}, file = `${path}.lock`): Promise<void> {
  const probe = fileStore(join(bundles, 'probe'))
  await probe.load()
  const mine: Record<string, unknown> = JSON.parse(await readFile(join(bundles, 'probe.lock'), 'utf8'))
  await probe.close?.()
  await writeFile(file, JSON.stringify({ ...mine, token: DEAD, ...changes }))
}

/** The pid of a process that has ended; nothing else has it so soon. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['--version'])
  await once(child, 'close')
  return child.pid ?? 0
}

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

describe('two users of one file', () => {
  test('a second store in the same process is refused, and does no harm to the first', async () => {
    const first = fileStore(path)
    await first.load()
    const second = fileStore(path)
    const message = (await failureOf(second.load())).message
    expect(message).toMatch(/in use by another stream of this process: give each stream a file of its own/)
    await second.close?.()
    await first.save('1')
    await first.close?.()
    expect(await second.load()).toBe('1')
    await second.close?.()
  })

  test('a second load of the same store is refused', async () => {
    const store = fileStore(path)
    await store.load()
    await failureOf(store.load())
    await store.save('1')
    await store.close?.()
  })

  test.skipIf(windows)(
    'a relative path and links to the file or its directory are the same file',
    async () => {
      await leave('1')
      await symlink(directory, join(directory, 'here'))
      await symlink(path, join(directory, 'alias'))
      const ways = [
        relative(process.cwd(), path),
        join(directory, 'here', 'cursor'),
        join(directory, 'alias'),
      ]
      const store = fileStore(path)
      await store.load()
      for (const way of ways) {
        expect((await failureOf(load(way))).message).toMatch(/in use by another stream of this process/)
      }
      await store.close?.()
      const linked = fileStore(join(directory, 'alias'))
      expect(await linked.load()).toBe('1')
      await linked.save('2')
      await linked.close?.()
      expect(await load()).toBe('2')
    },
  )

  test('another process is refused and told who holds the file', async () => {
    const store = fileStore(path)
    await store.load()
    const { stdout } = await promisify(execFile)(process.execPath, [loader, path])
    expect(stdout).toContain('ERR_SSE_STORE')
    expect(stdout).toContain(`in use by process ${process.pid} on ${hostname()}`)
    expect(stdout).toContain(`remove ${path}.lock`)
    await store.save('1')
    await store.close?.()
  })

  test('an owner whose lock was removed and taken by another saves no more and leaves that lock alone', async () => {
    const old = fileStore(path)
    await old.load()
    await unlink(`${path}.lock`)
    const next = fileStore(path)
    await next.load()
    await next.save('new')
    expect((await failureOf(old.save('old'))).message).toMatch(/lock was removed or taken over/)
    await old.close?.()
    await next.save('newer')
    await next.close?.()
    expect(await load()).toBe('newer')
  })
})

describe('whose lock is taken over', () => {
  test('that of a dead process is', async () => {
    await plantLock({ pid: await deadPid() })
    expect(await load()).toBeUndefined()
    expect(await readdir(directory)).toEqual(['cursor.lock'])
  })

  test.runIf(linux)('that of a dead process whose pid was given to another is', async () => {
    await plantLock({ pid: process.ppid, start: '1' })
    await load()
  })

  test.runIf(linux)('that of an earlier process with our own pid is', async () => {
    await plantLock({ start: '1' })
    await load()
  })

  test('that of the same host before a restart of the machine or container is', async () => {
    await plantLock({ space: 'an earlier boot' })
    await load()
  })

  test('that of another host is not, whatever its pid', async () => {
    await plantLock({ pid: await deadPid(), host: 'elsewhere', space: 'there' })
    expect((await failureOf(load())).message).toMatch(/in use by process \d+ on elsewhere/)
  })

  test('that of another host with the same fixed name is', async () => {
    await plantLock({ host: 'worker-1', space: 'there' })
    await load(path, { host: 'worker-1' })
  })

  test.runIf(linux)('that of a killed process that nobody has reaped yet is', async () => {
    // The shell becomes a program that never waits for the child it inherited.
    const parent = spawn('sh', ['-c', 'sleep 0.01 & echo $!; exec sleep 60'])
    started.push(parent)
    const pid = Number(await line(createInterface({ input: parent.stdout })))
    const state = async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/.*\) (.).*\n/s, '$1')
    await expect.poll(state, { interval: 5 }).toBe('Z')
    const start = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/.*\) /, '').split(' ')[19]
    await plantLock({ pid, start })
    await load()
  })

  test('one that names nobody is not, and the way out is told', async () => {
    const texts = ['', 'x', 'null', '{"token":"../../../../x","pid":1}', `{"token":"${DEAD}","pid":-1}`]
    await Promise.all(
      texts.map(async (text, i) => {
        const lock = `${path}-${i}.lock`
        await writeFile(lock, text)
        const { message } = await failureOf(load(`${path}-${i}`))
        expect(message).toContain(`names no process: if none uses the file, remove ${lock}`)
        expect(await readFile(lock, 'utf8')).toBe(text)
      }),
    )
  })

  test('one that is being written is waited for', async () => {
    await writeFile(`${path}.lock`, '')
    const waiting = load()
    waiting.catch(() => undefined)
    await new Promise(done => setTimeout(done, 50))
    await plantLock()
    expect((await failureOf(waiting)).message).toMatch(/is in use by process/)
  })

  test('a taker that died in the middle of taking over is taken over too', async () => {
    const pid = await deadPid()
    const second = 'fedcba9876543210'
    await plantLock({ pid })
    await plantLock({ pid, token: second }, `${path}.lock.${DEAD}`)
    await plantLock({ pid, token: '00000000000000ff' }, `${path}.lock.${DEAD}.${second}`)
    await load()
    expect(await readdir(directory)).toEqual(['cursor.lock'])
  })

  test('nobody takes it while a living taker is at it, and a taker that comes too late gives up', async () => {
    const pid = await deadPid()
    await plantLock({ pid })
    await plantLock({ token: 'fedcba9876543210' }, `${path}.lock.${DEAD}`)
    const late = load()
    late.catch(() => undefined)
    await new Promise(done => setTimeout(done, 100))
    expect(JSON.parse(await readFile(`${path}.lock`, 'utf8'))).toMatchObject({ token: DEAD })
    // What the living taker does: replace the lock, then let the guard go.
    await plantLock({ token: 'fedcba9876543210' }, `${path}.next`)
    await rename(`${path}.next`, `${path}.lock`)
    await rm(`${path}.lock.${DEAD}`)
    expect((await failureOf(late)).message).toMatch(/is in use by/)
    expect(JSON.parse(await readFile(`${path}.lock`, 'utf8'))).toMatchObject({ token: 'fedcba9876543210' })
  })

  test('of many processes that start at once on a dead lock, exactly one wins, round after round', async () => {
    const pid = await deadPid()
    const takers = Array.from({ length: 5 }, () => run(taker))
    await Promise.all(takers.map(({ lines }) => line(lines)))
    const tell = async (word: string) => {
      const answers = takers.map(({ lines }) => line(lines))
      for (const { child } of takers) child.stdin.write(`${word}\n`)
      return (await Promise.all(answers)).flatMap(answer => answer.split(','))
    }
    for (let round = 0; round < 12; round++) {
      const token = round.toString(16).padStart(16, '0')
      await plantLock({ pid, token })
      // In every other round somebody has died in the middle of the takeover before.
      if (round % 2) await plantLock({ pid, token: token.replace(/^0/, '1') }, `${path}.lock.${token}`)
      const results = await tell('go')
      expect(results.filter(result => result === 'won')).toHaveLength(1)
      expect(results.filter(result => result === 'lost')).toHaveLength(9)
      await tell('close')
    }
    expect(await readdir(directory)).toEqual([])
  })
})

describe('kill -9', () => {
  test('at 30 random moments leaves the last finished save or the one after it, and a lock that is taken over', async () => {
    const killed = async (file: string, times: number) => {
      let reached = 0
      for (let round = 0; round < times; round++) {
        const { child, lines } = run(saver, file)
        let loaded = -1
        let saved = 0
        lines.on('line', text => {
          const [word, id] = text.split(' ')
          if (word === 'loaded') loaded = Number(id)
          saved = Number(id)
        })
        const drained = once(lines, 'close')
        await once(lines, 'line')
        await new Promise(done => setTimeout(done, Math.random() * 30))
        await kill(child)
        await drained
        expect(loaded).toBe(reached)
        const own = async () => (await readdir(directory)).filter(name => name.startsWith(basename(file)))
        expect(await own()).toContain(`${basename(file)}.lock`)
        const store = fileStore(file)
        const found = Number((await store.load()) ?? 0)
        await store.close?.()
        // A save may be on disk whose report did not get out any more.
        expect([saved, saved + 1]).toContain(found)
        expect((await own()).filter(name => name !== basename(file))).toEqual([])
        reached = found
      }
      expect(reached).toBeGreaterThan(times)
    }
    await Promise.all([killed(`${path}-a`, 15), killed(`${path}-b`, 15)])
  })
})
