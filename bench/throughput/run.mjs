// CPU nanoseconds per event, ours with all five layers against peers with none, in one run: every round of every client
// is a process of its own, the rounds are interleaved, and what a client counted is checked before its time is believed.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { summary } from './stream.mjs'

const at = name => fileURLToPath(new URL(name, import.meta.url))

/** Ours first; `floor` is what any client on undici's fetch has to do. */
const CLIENTS = ['resilient-sse', 'resilient-sse batches', 'eventsource', 'eventsource-client', 'floor']
const PEERS = ['eventsource', 'eventsource-client']

export async function run({ rounds, events }) {
  const server = fork(at('server.mjs'), [String(events)])
  const [{ url }] = await once(server, 'message')
  const results = new Map(CLIENTS.map(client => [client, []]))
  try {
    for (let round = 0; round < rounds; round++) {
      for (const client of CLIENTS) results.get(client).push(await measure(client, url, events))
    }
  } finally {
    server.disconnect()
  }
  return report(results, events)
}

async function measure(client, url, events) {
  const child = fork(at('client.mjs'), [client, url, String(events)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exit = once(child, 'exit')
  const [message] = await Promise.race([once(child, 'message'), exit])
  await exit
  if (typeof message !== 'object' || message === null)
    throw new Error(`${client} ended without a result (${message})`)
  const expected = summary(events)
  if (
    message.count !== expected.count ||
    message.chars !== expected.chars ||
    message.last !== expected.last
  ) {
    throw new Error(`${client} did not receive what was sent: ${JSON.stringify(message)}`)
  }
  return message.cpuNs / events
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

function report(results, events) {
  const medians = new Map([...results].map(([client, values]) => [client, median(values)]))
  const fastest = Math.min(...PEERS.map(peer => medians.get(peer)))
  const floor = medians.get('floor')
  console.log(`throughput: ${events} events of 130 bytes in 64 KiB chunks, Node ${process.versions.node}`)
  console.log('client                  CPU ns/event   range          of fastest peer   of floor')
  for (const [client, value] of medians) {
    const values = results.get(client)
    const range = `${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)}`
    const ratios = `${(value / fastest).toFixed(2).padStart(15)} ${(value / floor).toFixed(2).padStart(10)}`
    console.log(`${client.padEnd(24)}${value.toFixed(0).padStart(12)}   ${range.padEnd(12)}${ratios}`)
  }
  const ours = medians.get('resilient-sse')
  const passed = ours <= fastest
  console.log(
    `${passed ? 'ok' : 'MISSED'}: for await with all five layers needs ${(ours / fastest).toFixed(2)} × the fastest peer with none`,
  )
  return passed
}
