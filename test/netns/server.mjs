// A fault server inside a network namespace, spoken to by IPC: node server.mjs <testing module> <address> <script>
const [, , modulePath, host, script] = process.argv
const { FaultServer } = await import(modulePath)
const server = await FaultServer.start({ host, log: { count: 3 }, ...JSON.parse(script) })
process.on('message', () => process.send({ requests: server.requests }))
process.once('disconnect', () => process.exit(0))
process.send({ url: server.url })
