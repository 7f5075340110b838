import { once } from 'node:events'
import { connect, createServer } from 'node:net'

const taken = new Set<number>()

/**
 * A port of 127.0.0.1 for a process that must be told its port: below those that the system gives to others meanwhile, never
 * twice in this process, and out of the reach of the test files that run beside this one.
 */
export async function freePort(): Promise<number> {
  const slice = 10_000 + 1_000 * (Number(process.env.VITEST_POOL_ID ?? 0) % 10)
  for (;;) {
    const port = slice + Math.floor(Math.random() * 1_000)
    if (taken.has(port)) continue
    taken.add(port)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
      return port
    } catch {
      // Somebody else's.
    } finally {
      server.close()
    }
  }
}

export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
