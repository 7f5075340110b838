import { once } from 'node:events'
import { connect, createServer } from 'node:net'

const taken = new Set<number>()

/**
 * A port that stays free until a server listens, and while it is started again: below those that the system gives to
 * others meanwhile, and never twice.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
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
