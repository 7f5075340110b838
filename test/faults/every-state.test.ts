import { getEventListeners } from 'node:events'
import { ResilientSse, type ResilientSseOptions, type SseEvent, type StreamState } from 'resilient-sse'
import { answer, cut, FaultServer, hold, noHeaders, type Step, send, silence } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { expectDials, FAST, sleep, until, Witness } from './support.ts'

/** A state in which a stream can be met, and how to bring one there: after `seen` events, the next pull gets stuck. */
interface Place {
  name: string
  state: StreamState
  script: Step[][]
  otherwise?: Step[]
  seen: number
  options?: ResilientSseOptions
  url?: (server: FaultServer) => string
  /** The lifecycle shows that it is there. */
  arrived: (witness: Witness, server: FaultServer) => boolean
  dials: (server: FaultServer) => (string | undefined)[]
}

const SLOW = { backoff: { baseMs: 60_000, jitter: 0, maxMs: 60_000 } } as const
const first = (server: FaultServer) => server.log.idAt(0)

const PLACES: Place[] = [
  {
    name: 'dialling',
    state: 'connecting',
    script: [],
    seen: 0,
    // A token that does not come: the dial was begun and nothing was sent.
    options: { headers: () => new Promise<HeadersInit>(() => {}) },
    arrived: witness => witness.events.length === 0,
    dials: () => [],
  },
  {
    name: 'waiting for headers',
    state: 'connecting',
    script: [[noHeaders()]],
    seen: 0,
    arrived: (_, server) => server.requests.length === 1,
    dials: () => [undefined],
  },
  {
    name: 'waiting for headers of a redial',
    state: 'connecting',
    script: [[send(1), cut()], [hold(60_000)]],
    seen: 1,
    arrived: (_, server) => server.requests.length === 2,
    dials: server => [undefined, first(server)],
  },
  {
    name: 'reading',
    state: 'open',
    script: [[send(1), silence()]],
    seen: 1,
    arrived: (_, server) => server.requests[0]?.eventsWritten === 1,
    dials: () => [undefined],
  },
  {
    name: 'waiting to redial',
    state: 'waiting',
    script: [[send(1), cut()]],
    seen: 1,
    options: SLOW,
    arrived: witness => witness.of('wait').length === 1,
    dials: () => [undefined],
  },
  {
    name: 'waiting for an open breaker',
    state: 'waiting',
    script: [[send(1), cut()]],
    otherwise: [answer(503)],
    seen: 1,
    options: { breaker: { threshold: 3 } },
    arrived: witness => witness.of('wait').some(({ reason }) => reason === 'circuit'),
    dials: server => [undefined, first(server), first(server)],
  },
]

interface Meeting {
  stream: ResilientSse
  iterator: AsyncIterableIterator<SseEvent, undefined>
  controller: AbortController
}

/** A way to end a stream; `pending`: what the `next()` that was waiting gets. */
const WAYS: {
  name: string
  leave: (meeting: Meeting) => Promise<unknown>
  pending: 'done' | 'reason'
  reason: string
}[] = [
  { name: 'close()', leave: ({ stream }) => stream.close(), pending: 'done', reason: 'closed' },
  {
    name: 'close() twice, at once and later',
    leave: async ({ stream }) => {
      await Promise.all([stream.close(), stream.close()])
      await stream.close()
    },
    pending: 'done',
    reason: 'closed',
  },
  { name: 'return()', leave: async ({ iterator }) => iterator.return?.(), pending: 'done', reason: 'closed' },
  {
    name: 'return() twice',
    leave: async ({ iterator }) => {
      const both = await Promise.all([iterator.return?.(), iterator.return?.()])
      expect(both).toEqual([
        { done: true, value: undefined },
        { done: true, value: undefined },
      ])
    },
    pending: 'done',
    reason: 'closed',
  },
  {
    name: 'await using',
    leave: async ({ stream }) => {
      await using _ = stream
    },
    pending: 'done',
    reason: 'closed',
  },
  {
    name: 'its signal',
    leave: async ({ controller }) => controller.abort(new Error('enough')),
    pending: 'reason',
    reason: 'aborted',
  },
]

describe.each(PLACES)('a stream that is $name', place => {
  test.each(WAYS)(
    'ends at once by $name: no socket, no timer, no listener stays',
    async ({ leave, pending, reason }) => {
      const before = resources()
      await using server = await FaultServer.start({
        log: { count: 5 },
        script: place.script,
        ...(place.otherwise === undefined ? {} : { otherwise: place.otherwise }),
      })
      const witness = new Witness()
      const controller = new AbortController()
      const stream = new ResilientSse(place.url?.(server) ?? server.url, {
        backoff: FAST.backoff,
        ...place.options,
        signal: controller.signal,
        onLifecycle: event => {
          witness.onLifecycle(event)
          // A listener that throws, now and later, is no reason to fail.
          if (witness.events.length % 2 === 0) throw new Error('a listener failed')
          return Promise.reject(new Error('a listener failed later'))
        },
      })
      const iterator = stream[Symbol.asyncIterator]()
      for (let n = 0; n < place.seen; n++) expect((await iterator.next()).done).toBe(false)
      const next = iterator.next()
      const outcome = next.then(
        ({ done }) => (done ? 'done' : 'an event'),
        (error: Error) => error.message,
      )
      await until(() => place.arrived(witness, server) && stream.state === place.state, `it is ${place.name}`)

      const leftAt = performance.now()
      await leave({ stream, iterator, controller })
      expect(await outcome).toBe(pending === 'done' ? 'done' : 'enough')
      expect(performance.now() - leftAt, 'milliseconds to the end').toBeLessThan(500)
      expect(stream.state).toBe('closed')
      expect(witness.of('close')).toMatchObject([{ reason }])
      // The reason is thrown once; afterwards the iterator is done, as after any error.
      expect(await iterator.next()).toEqual({ done: true, value: undefined })

      await until(() => server.openSockets === 0, 'the server sees the end', 1_000)
      for (const { closedAt } of server.requests) expect(closedAt).toBeDefined()
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
      const dials = place.dials(server)
      const own = place.name === 'dialling' ? {} : undefined
      expectDials(server.requests, dials, own)
      await server.close()
      await until(() => resources() <= before, 'no timer and no socket is left', 1_000)
      // Nothing was only put off.
      await sleep(30)
      expectDials(server.requests, dials)
    },
  )
})

/** Timers and sockets that keep the process alive. */
function resources(): number {
  return process
    .getActiveResourcesInfo()
    .filter(name => /^(Timeout|Immediate|TCP|TLS|GetAddrInfo)/.test(name)).length
}
