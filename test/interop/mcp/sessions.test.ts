import { describe, expect, onTestFinished, test } from 'vitest'
import { type Line, until } from './clients.ts'
import { type ServerSettings, SessionServer } from './session-server.ts'
import { connectHost, type HostOptions } from './transports.ts'

// Real servers of both SDK lines that are killed and started again, and what becomes of their sessions.

const LINES: Line[] = ['v1', 'v2']
const QUICKLY = { timeout: 10_000 }

async function start(line: Line, how: HostOptions = {}, settings: ServerSettings = {}) {
  const server = await SessionServer.start(line, settings)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { server, host: await connectHost(line, server.url, how) }
}

describe.each(LINES)('%s: a server that is killed during a call and started again', line => {
  test.each(['streams', 'JSON'])(
    'is initialized once; the call that was lost is told, the next ones work; nothing is done twice (%s)',
    async answers => {
      const settings = { json: answers === 'JSON' }
      const { server, host } = await start(line, {}, settings)
      const lost = host.call(1, { ms: 60_000 })
      lost.catch(() => {})
      await until(() => (settings.json ? server.count('call 1') : host.told.length) === 1)
      const killedAt = performance.now()
      await server.kill()
      await expect(lost).rejects.toMatchObject({
        code: -32_000,
        data: { sent: 'unknown', reason: answers === 'JSON' ? 'no-answer' : 'no-cursor' },
      })
      // The watchdog's least patience.
      expect(performance.now() - killedAt).toBeLessThan(30_000)
      await server.start(settings)
      expect(await host.call(2)).toBe('done 2')
      expect(await host.call(3)).toBe('done 3')
      expect(server.done).toEqual(['initialize', 'call 1', 'initialize', 'call 2', 'call 3'])
      expect(host.errors).toEqual([])
    },
  )

  test('is lost for the SDK alone: each later call fails', async () => {
    const { server, host } = await start(line, { bare: true })
    await host.call(1)
    await server.kill()
    await server.start()
    await expect(host.call(2, {}, QUICKLY)).rejects.toThrow(/Session not found|404/)
    await expect(host.call(3, {}, QUICKLY)).rejects.toThrow(/Session not found|404/)
    expect(server.count('initialize')).toBe(1)
  })

  test('is initialized once for twenty callers at once', async () => {
    const { server, host } = await start(line)
    await server.kill()
    await server.start()
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    expect(await Promise.all(numbers.map(number => host.call(number)))).toEqual(
      numbers.map(number => `done ${number}`),
    )
    expect(server.count('initialize')).toBe(2)
    expect(server.done.filter(done => done.startsWith('call')).toSorted()).toEqual(
      numbers.map(number => `call ${number}`).toSorted(),
    )
    expect(host.errors).toEqual([])
  })
})
