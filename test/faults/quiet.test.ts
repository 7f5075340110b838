import { ResilientSse } from 'resilient-sse'
import { FaultServer, send, silence } from 'resilient-sse/testing'
import { Agent, fetch } from 'undici'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectDials, Witness } from './support.ts'

// A file of its own: undici keeps one timer for all, and it has to be made while the clock is false.

describe("undici's own timeouts", () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  test('of 300 s for headers and for the body do not end a quiet stream; they would end a plain fetch', async () => {
    await using server = await FaultServer.start({ log: { count: 1 }, otherwise: [send(1), silence()] })
    // Sockets are real, undici's clock is not: five minutes pass at once.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    const witness = new Witness()
    const stream = new ResilientSse(server.url, { heartbeat: false, onLifecycle: witness.onLifecycle })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    const next = iterator.next()
    const agent = new Agent()
    const plain = await fetch(server.url, { dispatcher: agent })
    const reader = plain.body?.getReader()
    await reader?.read()
    const plainRead = reader?.read().then(
      () => 'a chunk',
      (error: Error) => (error.cause as { code?: string }).code,
    )

    await vi.advanceTimersByTimeAsync(400_000)
    vi.useRealTimers()
    expect(await plainRead).toBe('UND_ERR_BODY_TIMEOUT')
    expect(witness.types).toEqual(['dial', 'open'])
    expect(stream.state).toBe('open')
    await stream.close()
    expect((await next).done).toBe(true)
    await agent.destroy()
    expectDials(server.requests.slice(0, 1), [undefined])
    expect(server.requests).toHaveLength(2)
  })
})
