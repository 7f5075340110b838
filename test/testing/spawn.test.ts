import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { answer, end, eventLog, FaultServer, reset, rest, send } from 'resilient-sse/testing'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dial, parse, read, until } from './client.js'

let folder = ''
const built = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fault-server-'))
  await build({
    config: false,
    silent: true,
    entry: { testing: fileURLToPath(new URL('../../src/testing/index.ts', import.meta.url)) },
    format: ['esm', 'cjs'],
    target: 'node20',
    outDir: folder,
    outExtension: ({ format }) => ({ js: format === 'esm' ? '.mjs' : '.cjs' }),
  })
}, 30_000)

afterAll(() => rm(folder, { recursive: true }))

describe('a fault server in a process of its own', () => {
  it('plays the same scripts over the same log and tells what happened', async () => {
    const options = { count: 30, seed: 3, ids: 'uuid' } as const
    await using server = await FaultServer.spawn({
      log: options,
      script: [[send(10), reset()]],
      otherwise: [rest(), end()],
      modulePath: built('testing.mjs'),
    })
    expect(server.pid).not.toBe(process.pid)
    const before = performance.now()
    const first = parse((await read(server.url)).text)
    const second = parse((await read(server.url, { id: first.at(-1)?.id ?? '' })).text)
    const log = eventLog(options)
    expect([...first, ...second].map(block => block.data)).toEqual(
      Array.from({ length: 30 }, (_, i) => log.at(i).data),
    )
    await server.waitForClose(1)
    const requests = await server.requests()
    expect(requests.map(request => request.lastEventId)).toEqual([undefined, log.idAt(9)])
    expect(requests[0]).toMatchObject({ eventsWritten: 10, closedBy: 'server', lastIndex: 9 })
    expect((await server.faults()).map(fault => fault.kind)).toEqual(['reset', 'end'])
    expect(await server.sent()).toHaveLength(30)
    // The clocks of two processes agree to the millisecond at best.
    expect(requests[0]?.at).toBeGreaterThan(before - 50)
    expect(requests[1]?.at).toBeLessThan(performance.now() + 50)
  })

  it('takes every order that a server in this process takes', async () => {
    await using server = await FaultServer.spawn({ log: { count: 2 }, modulePath: built('testing.mjs') })
    const got = dial(server.port)
    await server.waitForRequests(1)
    expect(await server.push({ data: 'live!', id: 'x' })).toBe(2)
    await until(() => got.text.includes('data: live!'))
    expect(server.log.at(2).data).toBe('live!')
    expect([await server.openSockets(), await server.connections()]).toEqual([1, 1])
    await server.resetAll()
    await got.closed
    expect(got.code).toBe('ECONNRESET')
    await server.forget(1)
    await server.setScript([[answer(418)]], [rest(), end()])
    expect((await read(server.url)).status).toBe(418)
    expect(parse((await read(server.url)).text)).toHaveLength(2)
    await server.refuse()
    const refused = dial(server.port)
    await refused.closed
    expect(refused.code).toBe('ECONNREFUSED')
    await server.accept()
    expect(parse((await read(server.urlOf('/other'))).text)).toHaveLength(2)
    await expect(server.waitForRequests(99, 10)).rejects.toThrow('waited 10 ms for 99 requests')
    await expect(server.setScript([[send(-1)]])).rejects.toThrow('script[0][0].count')
  })

  it('can be spawned from the ES module and from CommonJS without saying where they are', async () => {
    const esm = (await import(
      pathToFileURL(built('testing.mjs')).href
    )) as typeof import('resilient-sse/testing')
    const cjs = createRequire(import.meta.url)(built('testing.cjs')) as typeof import('resilient-sse/testing')
    for (const { FaultServer: Built } of [esm, cjs]) {
      await using server = await Built.spawn({ otherwise: [answer(204)] })
      expect((await read(server.url)).status).toBe(204)
    }
  })

  it('ends its process with close(), and refuses orders after that', async () => {
    const server = await FaultServer.spawn({ modulePath: built('testing.mjs') })
    const pid = server.pid ?? 0
    await server.close()
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    await expect(server.requests()).rejects.toThrow('has ended')
    await server.close()
  })

  it('ends when its parent goes away, and does not keep the parent alive', async () => {
    const script = built('parent.mjs')
    await writeFile(
      script,
      `import { FaultServer } from './testing.mjs'
      const server = await FaultServer.spawn()
      console.log(server.pid)`,
    )
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 10_000 })
    const pid = Number(stdout)
    expect(pid).toBeGreaterThan(0)
    const isGone = () => {
      try {
        process.kill(pid, 0)
        return false
      } catch {
        return true
      }
    }
    await until(isGone)
  })

  it('says what to do where the module is TypeScript, and what was wrong with an option', async () => {
    await expect(FaultServer.spawn()).rejects.toThrow('modulePath: expected a built module')
    const wrong = { modulePath: built('testing.mjs'), port: -1 }
    await expect(FaultServer.spawn(wrong)).rejects.toThrow('port: expected an integer from 0 to 65535')
    await expect(FaultServer.spawn({ modulePath: built('nothing.mjs') })).rejects.toThrow('process ended')
  })
})
