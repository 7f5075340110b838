// Reads 10,000 large events through a reconnect and prints what the process still holds: node --expose-gc
// memory-client.mjs <module> <url> <events>
const [, , modulePath, url, count] = process.argv
const { ResilientSse } = await import(modulePath)

const held = () => {
  for (let n = 0; n < 4; n++) globalThis.gc()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return (heapUsed + external + arrayBuffers) / 1024 / 1024
}

const stream = new ResilientSse(url, { backoff: { baseMs: 20 }, heartbeat: { timeoutMs: 5_000 } })
let events = 0
let chars = 0
let before = 0
for await (const event of stream) {
  chars += event.data.length
  // Code is compiled and buffers are sized by then.
  if (++events === 200) before = held()
  if (events === Number(count)) break
}
const { dedupe, tcp } = stream.stats()
// A turn of the event loop, for what the closed socket still holds.
await new Promise(resolve => setTimeout(resolve, 50))
console.log(
  JSON.stringify({
    events,
    chars,
    grownMb: held() - before,
    ids: dedupe.ids,
    duplicates: dedupe.duplicates,
    dials: tcp.dials,
  }),
)
