import { describe, expect, onTestFinished, test } from 'vitest'
import { type Line, sleep, until } from './clients.ts'
import { LegacyServer } from './legacy-server.ts'
import { connectHost, type HostOptions } from './transports.ts'

// HTTP+SSE of 2024-11-05: a session is a stream, and what is sent to one must never be looked for on another.

const LINES: Line[] = ['v1', 'v2']

async function start(line: Line, how: HostOptions = {}) {
  const server = await LegacyServer.start()
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { server, host: await connectHost(line, server.url, { legacy: true, ...how }) }
}

describe.each(LINES)('%s: HTTP+SSE of 2024-11-05', line => {
  test('whose stream breaks is initialized again; the call that was open is told at once', async () => {
    const { server, host } = await start(line)
    await host.request('logging/setLevel', { level: 'error' })
    await host.request('resources/subscribe', { uri: 'a:1' })
    server.holds = number => number === 'lost'
    const lost = host.call('lost')
    lost.catch(() => {})
    await until(() => server.done.length === 1)
    await sleep(50)
    const brokenAt = performance.now()
    server.streams.get('s1')?.destroy()
    await expect(lost).rejects.toMatchObject({
      code: -32_000,
      data: { sent: 'unknown', reason: 'session-lost' },
    })
    expect(performance.now() - brokenAt).toBeLessThan(5_000)
    expect(await host.call(1)).toBe('done 1')
    expect(server.asked.slice(-5)).toEqual([
      'initialize s2',
      'notifications/initialized s2',
      'logging/setLevel s2',
      'resources/subscribe s2',
      'tools/call s2',
    ])
    expect(server.done).toEqual(['lost', 1])
    expect(host.sessions.map(({ type }) => type)).toEqual(['lost', 'initialized'])
    // Nobody reconnects beside it.
    await sleep(3_500)
    expect([...server.streams.keys()].filter(session => session !== 's1')).toEqual(['s2'])
    expect(host.errors).toEqual([])
  })

  test('that names a second endpoint has begun another session: it is initialized before anything is sent', async () => {
    const { server, host } = await start(line)
    server.nameEndpointAgain('s1')
    await until(() => host.sessions.some(({ type }) => type === 'initialized'))
    expect(await host.call(1)).toBe('done 1')
    expect(server.of('initialize')).toEqual(['initialize s1', 'initialize s3'])
    expect(server.of('tools/call')).toEqual(['tools/call s3'])
    // What was opened by the second endpoint is given up with its stream.
    expect(server.of('notifications/initialized')).toHaveLength(2)
    expect(host.errors).toEqual([])
  })

  test('is spliced by the SDK alone: it calls tools of a session that was never initialized', async () => {
    const { server, host } = await start(line, { bare: true })
    server.nameEndpointAgain('s1')
    await sleep(100)
    expect(await host.call(1)).toBe('done 1')
    expect(server.asked.at(-1)).toBe('tools/call s2')
    expect(server.of('initialize')).toEqual(['initialize s1'])
  })

  test('that refuses its endpoint (404) is initialized once for all who noticed; they are sent again', async () => {
    const { server, host } = await start(line)
    server.forget('s1')
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    expect(await Promise.all(numbers.map(number => host.call(number)))).toHaveLength(20)
    expect(server.of('initialize')).toEqual(['initialize s1', 'initialize s2'])
    expect(server.done).toHaveLength(20)
    expect(host.errors).toEqual([])
  })

  test('that is away when the host connects is an error, and is not asked for again behind its back', async () => {
    const server = await LegacyServer.start()
    const { url } = server
    await server[Symbol.asyncDispose]()
    await expect(connectHost(line, url, { legacy: true })).rejects.toThrow()
    await using later = await LegacyServer.start(Number(url.port))
    // The SDK alone would be back after 3 s.
    await sleep(3_500)
    expect(later.streams.size).toBe(0)
  })

  test('is closed with the transport', async () => {
    const { server, host } = await start(line)
    await host.close()
    await until(() => server.streams.get('s1')?.closed === true)
    await sleep(200)
    expect(server.streams.size).toBe(1)
    expect(host.sessions).toEqual([])
  })
})
