// Imports one thing, first and last thing that this process does.
const { specifier } = JSON.parse(process.argv[2] as string) as { specifier: string }
const before = { at: performance.now(), cpu: process.cpuUsage(), rss: process.memoryUsage().rss }
await import(specifier)
const ms = performance.now() - before.at
const { user, system } = process.cpuUsage(before.cpu)
process.send?.({ ms, cpuMs: (user + system) / 1_000, rssBytes: process.memoryUsage().rss - before.rss }, () =>
  process.exit(),
)
process.once('disconnect', () => process.exit())

export {}
