import { EventSource, type EventSourceInit } from 'resilient-sse/eventsource'
import {
  answer,
  cutInside,
  end,
  eventLog,
  FaultServer,
  headersOnly,
  ignoreId,
  noHeaders,
  replay,
  reset,
  rest,
  retry,
  type Step,
  send,
  silence,
  stay,
} from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { expectDials, FAST, QUICK_RETRY, until } from '../faults/support.ts'

const LOG = { count: 60, ids: 'opaque', bytes: [20, 5_000], seed: 5 } as const
const log = eventLog(LOG)
const last = log.idAt(LOG.count - 1)
const sent = Array.from({ length: LOG.count }, (_, index) => log.at(index))

interface Fault {
  name: string
  /** From the first dial on; the last connection sends the rest. Each begins where the one before it was lost. */
  script: Step[][]
  /** How many events were sent before each of these dials, and before the last one. */
  sentBefore: number[]
  init?: EventSourceInit
}

const FAULTS: Fault[] = [
  { name: 'a reset between two events', script: [[send(20), reset()]], sentBefore: [0, 20] },
  {
    name: 'a FIN inside an event',
    script: [[send(20), cutInside('event')]],
    sentBefore: [0, 20],
  },
  { name: 'a polite end', script: [[retry(QUICK_RETRY), send(20), end()]], sentBefore: [0, 20] },
  { name: 'silence on an open socket', script: [[send(20), silence()]], sentBefore: [0, 20] },
  { name: 'headers, then nothing', script: [[send(20), reset()], [headersOnly()]], sentBefore: [0, 20, 20] },
  {
    name: 'a request that is never answered',
    script: [[send(20), reset()], [noHeaders()]],
    sentBefore: [0, 20, 20],
    init: { openTimeoutMs: 150 },
  },
  {
    name: '503, before anything and after it',
    script: [
      [answer(503)],
      [send(20), reset()],
      [answer(503)],
      [answer(429, { headers: { 'retry-after': '0' } })],
    ],
    sentBefore: [0, 0, 20, 20, 20],
  },
  {
    name: "a gateway's page with status 200",
    script: [[send(20), reset()], [answer(200, { body: '<html>' })]],
    sentBefore: [0, 20, 20],
  },
  {
    name: 'a replay that overlaps by ten events, the last one included',
    script: [
      [send(20), reset()],
      [replay({ overlap: 10 }), send(30), reset()],
    ],
    sentBefore: [0, 20, 40],
  },
  {
    name: 'a replay of everything',
    script: [
      [send(20), reset()],
      [ignoreId(), send(50), reset()],
    ],
    sentBefore: [0, 20, 50],
  },
]

describe('through EventSource nothing is lost and nothing is doubled:', () => {
  test.each(FAULTS)('$name', async ({ script, sentBefore, init }) => {
    await using server = await FaultServer.start({ log: LOG, script: [...script, [rest(), stay()]] })
    const source = new EventSource(server.url, { ...FAST, ...init, headers: { 'x-app': 'mine' } })
    const received: string[] = []
    const states: number[] = []
    source.onmessage = ({ lastEventId, data }) => received.push(`${lastEventId} ${data}`)
    source.onerror = () => states.push(source.readyState)
    try {
      await until(() => received.at(-1)?.startsWith(`${last} `) ?? false, 'the last event came')
    } finally {
      source.close()
    }
    expect(received).toEqual(sent.map(({ id, data }) => `${id} ${data}`))
    expectDials(
      server.requests,
      sentBefore.map(count => (count === 0 ? undefined : log.idAt(count - 1))),
      { 'x-app': 'mine' },
    )
    // One for each connection that was lost and each dial that failed, and the source is connecting in all of them.
    expect(states).toEqual(script.map(() => 0))
  })
})
