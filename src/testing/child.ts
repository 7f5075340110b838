import type { RemoteCall, RemoteReply, RemoteStart } from './process.js'
import type { FaultServer } from './server.js'

/** Serves the process that spawned this one: its calls come over the IPC channel, and its end is ours. */
export function serveParent<Options, Server extends { url: string; port: number }>(
  start: (options: Options) => Promise<Server>,
  answer: (server: Server, method: string, args: unknown[]) => unknown,
): void {
  let server: Server | undefined
  process.once('disconnect', () => process.exit(0))
  process.on('message', async message => {
    const { call, method, args } = message as RemoteCall
    const reply: RemoteReply = { call }
    try {
      if (method === 'start') {
        server = await start(args[0] as Options)
        const { url, port } = server
        reply.value = { url, port, timeOrigin: performance.timeOrigin } satisfies RemoteStart
      } else if (server !== undefined) {
        reply.value = await answer(server, method, args)
      }
    } catch (error) {
      const { name, message: text } = error as Error
      reply.error = { name, message: text }
    }
    process.send?.(reply)
  })
}

/** The calls of a RemoteFaultServer. */
export function answerFaultServer(server: FaultServer, method: string, args: unknown[]): unknown {
  switch (method) {
    case 'requests':
    case 'faults':
    case 'openSockets':
    case 'connections':
      return server[method]
    case 'forget':
      return server.log.forget(args[0] as number)
    case 'sent':
    case 'setScript':
    case 'push':
    case 'refuse':
    case 'accept':
    case 'resetAll':
    case 'waitForRequests':
    case 'waitForClose':
      return (server[method] as (...given: unknown[]) => unknown).apply(server, args)
    default:
      throw new Error(`unknown method ${method}`)
  }
}
