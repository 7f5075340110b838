import pRetry from 'p-retry'
import { ResilientSse } from 'resilient-sse'
import type { VirtualClock } from '../../test/simulation/clock.ts'
import type { Connection, Network } from './network.ts'

/** One client for ever, from its first dial on. */
type Strategy = (network: Network, clock: VirtualClock) => Promise<void>

export const STRATEGIES: Record<string, Strategy> = {
  'resilient-sse': ours,
  'fixed 3 s': (network, clock) => waiting(network, clock, { next: () => 3_000, opened() {} }),
  // Doubles from 1 s to 16 s without jitter, and starts again at each open.
  'doubling, as a polyfill': (network, clock) => {
    let delay = 1_000
    return waiting(network, clock, {
      next() {
        const now = delay
        delay = Math.min(16_000, delay * 2)
        return now
      },
      opened() {
        delay = 1_000
      },
    })
  },
  "p-retry's randomize": async network => {
    const options = {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 1_000,
      maxTimeout: 16_000,
      randomize: true,
    }
    for (;;) {
      const connection = await pRetry(() => network.dial().catch(asNetworkError), options)
      await connection.over
    }
  },
}

/** The real client and its layer 4; only its fetch is the network's. */
async function ours(network: Network): Promise<void> {
  let nr = 0
  const fetch = async () => responseOf(await network.dial(), ++nr, network.retryMs)
  for await (const _ of new ResilientSse('http://server.test/', { fetch })) {
    // Nothing to do with them here.
  }
}

function responseOf(connection: Connection, nr: number, retryMs: number | undefined): Response {
  const retry = retryMs === undefined ? '' : `retry: ${retryMs}\n`
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(`${retry}id: ${nr}\ndata: x\n\n`))
      connection.over.then(how => {
        if (how === 'ended') controller.close()
        else controller.error(new TypeError('terminated', { cause: reset() }))
      })
    },
  })
  const headers = { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }
  return new Response(body, { headers })
}

const reset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/** It retries no TypeError that it does not know for one of the network. */
function asNetworkError(error: Error): never {
  throw new Error(error.message, { cause: error.cause })
}

/** The loop that all simple clients are: wait, dial, and again. */
async function waiting(
  network: Network,
  clock: VirtualClock,
  delays: { next(): number; opened(): void },
): Promise<void> {
  for (;;) {
    try {
      const connection = await network.dial()
      delays.opened()
      await connection.over
    } catch {
      // Refused: the next wait is the answer.
    }
    await clock.sleep(delays.next())
  }
}
