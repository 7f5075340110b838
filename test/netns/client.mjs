// A stream inside a network namespace that tells its life by IPC: node client.mjs <module> <url> <options>
const [, , modulePath, url, options] = process.argv
const { ResilientSse } = await import(modulePath)
const onLifecycle = ({ type, ...event }) =>
  process.send({
    type,
    at: performance.now(),
    reason: event.reason,
    code: event.error?.cause?.cause?.code ?? event.error?.cause?.code,
  })
process.once('disconnect', () => process.exit(0))
for await (const { id } of new ResilientSse(url, { ...JSON.parse(options), onLifecycle })) {
  process.send({ type: 'event', id, at: performance.now() })
}
