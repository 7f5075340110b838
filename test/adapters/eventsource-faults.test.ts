import { EventSource } from 'resilient-sse/eventsource'
import { answer, end, FaultServer, reset, rest, retry, send, stay } from 'resilient-sse/testing'
import { describe, expect, test } from 'vitest'
import { expectDials, FAST, QUICK_RETRY, until } from '../faults/support.ts'
import { cursors, FAULTS, type Fault, LOG, log } from './faults.ts'

const last = log.idAt(LOG.count - 1)
const sent = Array.from({ length: LOG.count }, (_, index) => log.at(index))

/** Ends of a stream, and answers before there is one, that only an EventSource takes for a reason to dial again. */
const MORE: Fault[] = [
  { name: 'a polite end', script: [[retry(QUICK_RETRY), send(20), end()]], had: [0, 20] },
  { name: '503 before anything', script: [[answer(503)], [send(20), reset()]], had: [0, 0, 20] },
]

describe('through EventSource nothing is lost and nothing is doubled:', () => {
  test.each([...FAULTS, ...MORE])('$name', async fault => {
    const { script, openTimeoutMs } = fault
    await using server = await FaultServer.start({ log: LOG, script: [...script, [rest(), stay()]] })
    const source = new EventSource(server.url, {
      ...FAST,
      ...(openTimeoutMs && { openTimeoutMs }),
      headers: { 'x-app': 'mine' },
    })
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
    expectDials(server.requests, cursors(fault), { 'x-app': 'mine' })
    // One for each connection that was lost and each dial that failed, and the source is connecting in all of them.
    expect(states).toEqual(script.map(() => 0))
  })
})
