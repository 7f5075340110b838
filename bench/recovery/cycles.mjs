// 10 streams × 100 cycles of breaking and recovering, through relays in a process of their own.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { ResilientSse } from '../../dist/index.js'
import { raw } from './raw.mjs'
import { CYCLES, dataOf, idOf, isBig, numberOf } from './stream.mjs'

const at = name => fileURLToPath(new URL(name, import.meta.url))

/** More than a blackhole lasts: what it swallowed does not come again, and new connections are not held by it. */
export const PATIENCE_MS = 400
const FAULTS = [
  ['RST', { do: 'reset', inside: 'event' }],
  ['FIN inside an event', { do: 'cut', inside: 'event' }],
  ['blackhole of 200 ms', { do: 'blackhole', ms: 200, bytes: 'drop' }],
  ['refusal of 100 ms', { do: 'refuse', ms: 100 }],
]
/** Events of a connection before it is broken: more than one, or it would count as flapping. */
const LEAST_EVENTS = 5

/** Every cycle's figures, and what was lost and doubled on the way. */
export async function breakAndRecover() {
  const server = fork(at('server.mjs'))
  const [{ port }] = await once(server, 'message')
  const relay = fork(at('relay.mjs'), [`http://127.0.0.1:${port}`])
  const [{ urls }] = await once(relay, 'message')
  try {
    const streams = await Promise.all(urls.map((url, stream) => run(stream, url, relay)))
    server.send('resumed')
    const [{ resumed }] = await once(server, 'message')
    return streams.map((one, stream) => judge(one, resumed[stream])).reduce(merge)
  } finally {
    relay.disconnect()
    server.disconnect()
  }
}

/**
 * One break and the recovery from it. For each wait a bare timer of the same length is started beside ours, and for each
 * dial undici's fetch through the same relay: both meet the same moment, so that a machine busy with other things is not
 * taken for a slow recovery, nor hides one.
 */
class Cycle {
  droppedAt
  received
  dials = 0
  chosenMs = 0
  waitedMs = 0
  #raws = []

  constructor(name, big, url) {
    Object.assign(this, { name, big, url })
  }

  tell({ type, delayMs, lastEventId }, received) {
    const now = performance.now()
    if (type === 'drop' && this.droppedAt === undefined) Object.assign(this, { droppedAt: now, received })
    if (type === 'wait') {
      this.chosenMs += delayMs
      setTimeout(() => {
        this.waitedMs += performance.now() - now
      }, delayMs)
    }
    if (type === 'dial') {
      this.dials++
      this.#raws.push(raw(this.url, lastEventId))
    }
  }

  async end(now, first) {
    const raws = await Promise.all(this.#raws)
    // A dial of ours that was refused while undici's own got through costs nothing in this account.
    const rawMs = raws.reduce(
      (sum, one, i) => sum + (i === raws.length - 1 || one.end === 'refused' ? one.tookMs : 0),
      0,
    )
    const tookMs = now - this.droppedAt
    // How far two of undici's own differ side by side: what this machine cannot tell apart.
    const [one, other] = await Promise.all([raw(this.url, this.received), raw(this.url, this.received)])
    const noiseMs = other.tookMs - one.tookMs
    // Starved of the processor for longer than the watchdog's patience: a break that nobody ordered mixed with this one.
    const disturbed = [...raws, one, other].some(({ end }) => end === 'broken')
    const { name, big, received, dials, chosenMs, waitedMs } = this
    const addedMs = tookMs - waitedMs - rawMs
    return {
      name,
      big,
      received,
      first,
      dials,
      tookMs,
      rawMs,
      addedMs,
      noiseMs,
      disturbed,
      lateMs: waitedMs - chosenMs,
    }
  }
}

/** One stream through all of its cycles. */
async function run(stream, url, relay) {
  const done = { stream, cycles: [], lost: 0, doubled: 0, altered: 0, unasked: 0 }
  let cycle
  let received
  const sse = new ResilientSse(url, {
    heartbeat: { timeoutMs: PATIENCE_MS },
    backoff: { baseMs: 20, maxMs: 100 },
    breaker: { threshold: 1_000 },
    onLifecycle(event) {
      if (cycle === undefined) done.unasked += event.type === 'drop' ? 1 : 0
      else cycle.tell(event, received)
    },
  })
  let onConnection = 0
  for await (const { id, data } of sse) {
    const now = performance.now()
    const n = numberOf(id)
    const expected = received === undefined ? 0 : numberOf(received) + 1
    if (n < expected) done.doubled++
    else done.lost += n - expected
    if (data !== dataOf(stream, n)) done.altered++
    received = id
    onConnection++
    if (cycle?.droppedAt !== undefined) {
      done.cycles.push(await cycle.end(now, id))
      cycle = undefined
      onConnection = 1
      if (done.cycles.length === CYCLES) break
    }
    const count = done.cycles.length
    // One cycle in ten breaks at an event of 1 MB, which is then the first of the next connection.
    const big = count % 10 === 9
    if (cycle !== undefined || onConnection < LEAST_EVENTS || isBig(n + 1) !== big) continue
    const [name, fault] = FAULTS[(count + stream) % FAULTS.length]
    cycle = new Cycle(name, big, url)
    relay.send({ stream, fault })
  }
  return done
}

/** Compares what the server was asked for with what had been received. */
function judge({ cycles, ...done }, resumed) {
  let asked = 1
  let right = 0
  for (const { received, first } of cycles) {
    const found = resumed.indexOf(received, asked)
    if (found === -1 || first !== idOf(done.stream, numberOf(received) + 1)) continue
    asked = found + 1
    right++
  }
  return { ...done, cycles, right }
}

function merge(a, b) {
  const names = ['lost', 'doubled', 'altered', 'unasked', 'right']
  const sums = Object.fromEntries(names.map(name => [name, a[name] + b[name]]))
  return { ...sums, cycles: [...a.cycles, ...b.cycles] }
}
