import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const NEAR = `rs-near-${process.pid}`
const FAR = `rs-far-${process.pid}`
const NEAR_LINK = `rsn${process.pid}`
const FAR_LINK = `rsf${process.pid}`
const ADDRESS = '10.213.67.2'

const ip = (...args: string[]) =>
  execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const local = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const dist = process.env.RESILIENT_SSE_PACKAGE
  ? `${process.env.RESILIENT_SSE_PACKAGE}/dist`
  : local('../../dist')

function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are a thing of Linux'
  if (process.getuid?.() !== 0) return 'making a network namespace needs root'
  if (!existsSync(`${dist}/testing.js`)) return 'dist is missing: npm run build'
  try {
    ip('netns', 'add', NEAR)
    ip('netns', 'del', NEAR)
    execFileSync('ss', ['-V'], { stdio: 'ignore' })
    return undefined
  } catch (error) {
    return `iproute2 cannot make a namespace here (${(error as Error).message.split('\n')[0]})`
  }
}

const reason = whyNot()
if (reason !== undefined) console.log(`skipped, layer 1 in network namespaces: ${reason}`)

interface Told {
  type: string
  at: number
  reason?: string
  code?: string
  id?: string
}

/** A Node process inside a namespace, and what it said. */
class Inside {
  readonly told: Told[] = []
  readonly process: ChildProcess

  constructor(namespace: string, file: string, ...args: string[]) {
    this.process = spawn('ip', ['netns', 'exec', namespace, process.execPath, local(file), ...args], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.process.on('message', message => this.told.push(message as Told))
  }

  of(type: string): Told[] {
    return this.told.filter(told => told.type === type)
  }

  async ask<Answer>(question?: string): Promise<Answer> {
    if (question !== undefined) this.process.send(question)
    const [answer] = await once(this.process, 'message')
    return answer as Answer
  }

  async end(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    const gone = once(this.process, 'exit')
    this.process.disconnect()
    await gone
  }
}

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

async function until(isTrue: () => boolean, timeoutMs: number): Promise<boolean> {
  for (const end = performance.now() + timeoutMs; performance.now() < end; await sleep(20))
    if (isTrue()) return true
  return false
}

/** Lines of `ss -tno` for connections to the server, as seen from the client's namespace. */
const sockets = () =>
  ip('netns', 'exec', NEAR, 'ss', '-tnoH', 'dst', ADDRESS)
    .split('\n')
    .filter(line => line.startsWith('ESTAB'))

describe.skipIf(reason !== undefined)('layer 1 alone, in network namespaces of its own', () => {
  const inside: Inside[] = []

  beforeAll(() => {
    ip('netns', 'add', NEAR)
    ip('netns', 'add', FAR)
    ip('link', 'add', NEAR_LINK, 'netns', NEAR, 'type', 'veth', 'peer', 'name', FAR_LINK, 'netns', FAR)
    for (const [namespace, link, address] of [
      [NEAR, NEAR_LINK, '10.213.67.1'],
      [FAR, FAR_LINK, ADDRESS],
    ] as const) {
      ip('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', link)
      ip('-n', namespace, 'link', 'set', link, 'up')
      ip('-n', namespace, 'link', 'set', 'lo', 'up')
    }
  })

  afterAll(async () => {
    await Promise.all(inside.map(one => one.end()))
    for (const namespace of [NEAR, FAR]) {
      try {
        ip('netns', 'del', namespace)
      } catch {}
    }
  })

  test('notices a peer that vanished within 30 s, and resumes when it is back; with tcp: false it never notices', async () => {
    const script = { otherwise: [{ do: 'send', count: 1 }, { do: 'silence' }] }
    const server = new Inside(FAR, 'server.mjs', `${dist}/testing.js`, ADDRESS, JSON.stringify(script))
    inside.push(server)
    const { url } = await server.ask<{ url: string }>()
    const client = (options: object) => {
      const one = new Inside(NEAR, 'client.mjs', `${dist}/index.js`, url, JSON.stringify(options))
      inside.push(one)
      return one
    }

    const watched = client({
      heartbeat: false,
      breaker: false,
      backoff: { baseMs: 100, maxMs: 500 },
      tcp: { connectTimeoutMs: 1_000 },
    })
    expect(await until(() => watched.of('event').length === 1, 10_000)).toBe(true)
    const timers = sockets()
    expect(timers).toHaveLength(1)
    // Default: the first probe after 15 s of silence.
    expect(timers[0]).toMatch(/timer:\(keepalive,1[0-5](\.\d+)?sec,0\)/)
    console.log(`ss -tno: ${timers[0]?.trim()}`)

    const blind = client({ heartbeat: false, tcp: false })
    expect(await until(() => blind.of('event').length === 1, 10_000)).toBe(true)
    expect(sockets().filter(line => line.includes('keepalive'))).toHaveLength(1)

    ip('-n', FAR, 'link', 'set', FAR_LINK, 'down')
    const vanishedAt = performance.now()
    expect(await until(() => watched.of('drop').length > 0, 31_000), 'the peer was missed').toBe(true)
    const noticedMs = performance.now() - vanishedAt
    console.log(`noticed after ${(noticedMs / 1000).toFixed(1)} s`)
    expect(noticedMs).toBeLessThan(30_000)
    expect(noticedMs).toBeGreaterThan(5_000)
    expect(watched.of('drop')[0]).toMatchObject({ reason: 'network', code: 'ETIMEDOUT' })
    expect(watched.of('stall')).toEqual([])

    await sleep(Math.max(0, 30_000 - noticedMs))
    expect(blind.of('drop'), 'tcp: false: the dead peer is not noticed').toEqual([])
    expect(sockets(), 'its socket still looks established').toHaveLength(1)

    ip('-n', FAR, 'link', 'set', FAR_LINK, 'up')
    expect(await until(() => watched.of('event').length === 2, 20_000), 'resumed').toBe(true)
    const { requests } = await server.ask<{
      requests: { lastEventId?: string; headers: Record<string, string> }[]
    }>('requests')
    expect(requests.map(({ lastEventId }) => lastEventId)).toEqual([
      undefined,
      undefined,
      watched.of('event')[0]?.id,
    ])
    for (const { headers } of requests)
      expect(headers).toMatchObject({
        accept: 'text/event-stream',
        'cache-control': 'no-cache',
        'accept-encoding': 'identity',
      })
  })
})
