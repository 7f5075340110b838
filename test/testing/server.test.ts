import { end, eventLog, FaultServer, rest, send } from 'resilient-sse/testing'
import { describe, expect, it } from 'vitest'
import { parse, read } from './client.js'

describe('the fault server', () => {
  it('sends the log in order, and goes on after the event that Last-Event-ID names', async () => {
    const log = eventLog({ count: 50 })
    await using server = await FaultServer.start({
      log,
      script: [[send(20), end()]],
      otherwise: [rest(), end()],
    })
    const first = await read(server.url)
    expect(first.error).toBeUndefined()
    const events = parse(first.text)
    expect(events).toHaveLength(20)
    expect(events.map(e => e.data)).toEqual(Array.from({ length: 20 }, (_, i) => log.at(i).data))
    const second = await read(server.url, { id: events[19]?.id ?? '' })
    expect(parse(second.text).map(e => e.id)).toEqual(Array.from({ length: 30 }, (_, i) => log.at(20 + i).id))
    expect(server.requests.map(r => r.lastEventId)).toEqual([undefined, log.at(19).id])
    expect(server.sent()).toHaveLength(50)
  })
})
