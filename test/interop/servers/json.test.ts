import { ResilientSse, SseError, type StandardSchema } from 'resilient-sse'
import { FaultServer, follow } from 'resilient-sse/testing'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'

interface Price {
  symbol: string
  at: Date
}

/** The same schemas in both languages: what is checked, and what comes out of it. */
const LIBRARIES: Record<'zod' | 'valibot', Record<'price' | 'known', StandardSchema<Price>>> = {
  zod: {
    price: z.object({ symbol: z.string(), at: z.iso.datetime().transform(text => new Date(text)) }),
    known: z.object({ symbol: z.string().refine(isKnown, 'Not listed'), at: z.coerce.date() }).readonly(),
  },
  valibot: {
    price: v.object({
      symbol: v.string(),
      at: v.pipe(
        v.string(),
        v.isoTimestamp(),
        v.transform(text => new Date(text)),
      ),
    }),
    known: v.objectAsync({
      symbol: v.pipeAsync(v.string(), v.checkAsync(isKnown, 'Not listed')),
      at: v.pipe(
        v.string(),
        v.transform(text => new Date(text)),
      ),
    }),
  },
}

/** Asks somebody else, so that the schema is asynchronous. */
async function isKnown(symbol: string): Promise<boolean> {
  await new Promise(resolve => setTimeout(resolve, 5))
  return symbol !== 'XXX'
}

const AT = '2026-01-02T03:04:05Z'

async function serve(...events: unknown[]) {
  const server = await FaultServer.start({ log: { count: 0 }, otherwise: [follow()] })
  for (const [index, event] of events.entries()) {
    server.push({ id: `p${index + 1}`, data: typeof event === 'string' ? event : JSON.stringify(event) })
  }
  return server
}

/** A store in memory, and what it was given. */
function memory() {
  const saved: string[] = []
  return { saved, store: { load: () => saved.at(-1), save: (id: string) => void saved.push(id) } }
}

async function read<Output>(stream: ResilientSse, schema: StandardSchema<Output> | undefined, count: number) {
  const data: Output[] = []
  try {
    for await (const event of stream.json(schema)) if (data.push(event.data) === count) break
  } catch (error) {
    return { data, error: error as SseError }
  }
  return { data, error: undefined }
}

describe.each(Object.entries(LIBRARIES))('%s', (_, { price, known }) => {
  test('gives what the schema makes of the data', async () => {
    await using server = await serve({ symbol: 'ABC', at: AT, more: 1 }, { symbol: 'DEF', at: AT })
    const { data } = await read(new ResilientSse(server.url), price, 2)
    expect(data).toEqual([
      { symbol: 'ABC', at: new Date(AT) },
      { symbol: 'DEF', at: new Date(AT) },
    ])
    expect(server.requests).toHaveLength(1)
  })

  test('names the id, the place and the reason when the data does not match', async () => {
    await using server = await serve({ symbol: 'ABC', at: AT }, { symbol: 7, at: 'yesterday' })
    const stream = new ResilientSse(server.url)
    const { data, error } = await read(stream, price, 2)
    expect(data).toHaveLength(1)
    expect(error).toBeInstanceOf(SseError)
    expect(error).toMatchObject({ code: 'ERR_SSE_JSON', retryable: false })
    expect(error?.message).toMatch(/^The event "p2" does not match the schema \(symbol: .+; at: .+\)$/)
    expect(error?.cause).toHaveLength(2)
    expect(stream.state).toBe('closed')
    expect(server.requests).toHaveLength(1)
  })

  test('waits for a schema that is asynchronous, event by event and in order', async () => {
    await using server = await serve(
      { symbol: 'ABC', at: AT },
      { symbol: 'DEF', at: AT },
      { symbol: 'XXX', at: AT },
    )
    const { data, error } = await read(new ResilientSse(server.url), known, 3)
    expect(data.map(({ symbol }) => symbol)).toEqual(['ABC', 'DEF'])
    expect(error?.message).toBe('The event "p3" does not match the schema (symbol: Not listed)')
  })

  test.each(['{"symbol": ', { symbol: 'XXX', at: AT }])(
    'leaves the event that failed unacknowledged, so that the next run meets it again (%j)',
    async bad => {
      await using server = await serve({ symbol: 'ABC', at: AT }, bad, { symbol: 'DEF', at: AT })
      const { saved, store } = memory()
      for (let run = 1; run <= 2; run++) {
        const { data, error } = await read(new ResilientSse(server.url, { resume: { store } }), known, 3)
        expect(data).toHaveLength(run === 1 ? 1 : 0)
        expect(error).toMatchObject({ code: 'ERR_SSE_JSON' })
        expect(error?.message).toContain('"p2"')
        expect(saved).toEqual(['p1'])
      }
      expect(server.requests.map(({ lastEventId }) => lastEventId)).toEqual([undefined, 'p1'])
    },
  )

  test('its events can be acknowledged by hand', async () => {
    await using server = await serve({ symbol: 'ABC', at: AT }, { symbol: 'DEF', at: AT })
    const { saved, store } = memory()
    const stream = new ResilientSse(server.url, { resume: { store, ack: 'manual' } })
    for await (const event of stream.json(price)) {
      if (event.data.symbol === 'DEF') break
      stream.ack(event)
    }
    expect(saved).toEqual(['p1'])
  })
})
