// Both sides in one process: `npm run mcp:demo`. The flags are those of the server and of the client.
import { clientOptions, runClient } from './client.ts'
import { serverOptions, startServer } from './server.ts'

const SERVER_FLAGS = new Set([
  '--port',
  '--retry-interval',
  '--pause',
  '--max-events-per-stream',
  '--no-event-store',
  '--event-log',
  '--low-level',
])

/** Hosts the server on a free port, runs the client, and shuts down. */
export async function runDemo(args: readonly string[], print: (line: string) => void): Promise<string> {
  const { server: forServer, client: forClient } = split(args)
  const server = await startServer(serverOptions(['--port', '0', ...forServer]))
  try {
    return await runClient(clientOptions(['--url', server.url, ...forClient], print))
  } finally {
    await server.close()
  }
}

/** Which side each flag, and the value that follows it, is for. */
function split(args: readonly string[]): { server: string[]; client: string[] } {
  const sides = { server: [] as string[], client: [] as string[] }
  let side: keyof typeof sides = 'client'
  for (const arg of args) {
    if (arg.startsWith('--')) side = SERVER_FLAGS.has(arg.split('=', 1)[0] ?? '') ? 'server' : 'client'
    sides[side].push(arg)
  }
  return sides
}
