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

  test('is lost for the SDK alone: the call hangs until its timeout, each later one fails', async () => {
    const { server, host } = await start(line, { bare: true })
    const lost = host.call(1, { ms: 60_000 }, { timeout: 6_000 })
    lost.catch(() => {})
    await until(() => host.told.length === 1)
    await server.kill()
    await server.start()
    await expect(lost).rejects.toThrow(/timed out/i)
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

  test('is set again as it was: its log level and subscriptions, ahead of the next call', async () => {
    const { server, host } = await start(line)
    await host.request('logging/setLevel', { level: 'error' })
    for (const uri of ['a:1', 'a:2']) await host.request('resources/subscribe', { uri })
    await host.request('resources/unsubscribe', { uri: 'a:1' })
    await server.kill()
    await server.start()
    const before = server.done.length
    expect(await host.call(1)).toBe('done 1')
    expect(server.done.slice(before)).toEqual([
      'initialize',
      'level error',
      'resources/subscribe a:2',
      'call 1',
    ])
  })

  test('may be another: the host is told what it says otherwise of itself', async () => {
    const { server, host } = await start(line)
    await server.kill()
    await server.start({ version: '2', prompts: true })
    expect(await host.call(1)).toBe('done 1')
    expect(host.sessions.at(-1)).toMatchObject({
      type: 'initialized',
      changed: ['capabilities', 'serverInfo'],
      result: { serverInfo: { version: '2' }, capabilities: { prompts: {} } },
      previous: { serverInfo: { version: '1' } },
    })
  })

  test('that has no sessions is not initialized again', async () => {
    // A process takes its time to start.
    const resilience = { backoff: { baseMs: 100, maxMs: 500, maxAttempts: 1_000 } }
    const { server, host } = await start(line, { resilience }, { stateless: true })
    expect(await host.call(1)).toBe('done 1')
    await server.kill()
    const waiting = host.call(2)
    waiting.catch(() => {})
    await server.start({ stateless: true })
    expect(await waiting).toBe('done 2')
    expect(server.done).toEqual(['initialize', 'call 1', 'call 2'])
    expect(host.sessions).toEqual([])
  })

  test('and had asked the host something meanwhile is not sent the answer', async () => {
    const answers: (() => void)[] = []
    const elicit = () => new Promise<void>(resolve => answers.push(resolve))
    const { server, host } = await start(line, { elicit })
    const lost = host.call(1, { ask: true })
    lost.catch(() => {})
    await until(() => answers.length === 1)
    await server.kill()
    await expect(lost).rejects.toMatchObject({ code: -32_000 })
    await server.start()
    expect(await host.call(2)).toBe('done 2')
    answers[0]?.()
    const asked = host.call(3, { ask: true })
    await until(() => answers.length === 2)
    answers[1]?.()
    expect(await asked).toBe('done 3')
    expect(host.errors).toEqual([])
  })
})
