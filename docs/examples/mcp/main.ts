// The command: `server`, `client` or `demo`, and its flags.
import { clientOptions, runClient } from './client.ts'
import { runDemo } from './demo.ts'
import { FlagError } from './flags.ts'
import { serverOptions, startServer } from './server.ts'

const print = (line: string) => console.log(line)

async function main([command, ...args]: string[]): Promise<void> {
  if (command === 'client') await runClient(clientOptions(args, print))
  else if (command === 'demo') await runDemo(args, print)
  else {
    const server = await startServer(serverOptions(args))
    print(`listening on ${server.url}`)
    const stop = () => void server.close()
    process.once('SIGINT', stop).once('SIGTERM', stop)
  }
}

main(process.argv.slice(2)).catch(error => {
  const refused = (error as { cause?: { code?: string } }).cause?.code === 'ECONNREFUSED'
  const text = refused ? 'no server there; npm run mcp:server starts one' : error
  console.error(error instanceof FlagError ? error.message : text)
  process.exitCode = error instanceof FlagError ? 2 : 1
})
