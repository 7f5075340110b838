import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fileStore } from '../../src/stores/file.ts'
import { directory, kill, path, run, saver } from './files.ts'

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
