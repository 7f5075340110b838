import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { fileStore } from '../../src/stores/file.ts'
import {
  DEAD,
  deadPid,
  directory,
  failureOf,
  kill,
  leave,
  line,
  linux,
  load,
  loader,
  path,
  plantLock,
  run,
  saver,
  started,
  taker,
  windows,
} from './files.ts'

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
        // Every other life is long enough for a save, however busy the machine is.
        if (round % 2) await once(lines, 'line')
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
      expect(reached).toBeGreaterThanOrEqual(Math.floor(times / 2))
    }
    await Promise.all([killed(`${path}-a`, 15), killed(`${path}-b`, 15)])
  })
})
