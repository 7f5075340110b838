import { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { type Connector, dialDispatcher, type ResolvedTcp } from './layers/tcp.ts'

/**
 * What one dial connects with. Of its own, because undici can neither give up a connect that is under way nor leave an
 * aborted request alone (it dials for it once more): only by destroying the whole agent does nothing stay behind. So each
 * dial also has a socket and a name lookup of its own, and cannot meet the path that just failed.
 */
export class DialAgent {
  readonly #tcp: ResolvedTcp | false
  // Nearly always one of each, where push() would make room for 17.
  #dispatchers: readonly Dispatcher[] = []
  #sockets: readonly Socket[] = []

  constructor(tcp: ResolvedTcp | false) {
    this.#tcp = tcp
  }

  /** The dispatcher for a request to this origin: the next hop of a redirect has its own. */
  for(origin: URL | string): Dispatcher {
    const dispatcher = dialDispatcher(this.#tcp, origin, connect => this.#watched(connect))
    this.#dispatchers = this.#dispatchers.concat(dispatcher)
    return dispatcher
  }

  /** Nothing stays behind: no socket, connected or not, no session, no request that waits. */
  destroy(): void {
    const reason = new Error('the dial is over')
    for (const dispatcher of this.#dispatchers) dispatcher.destroy(reason).catch(() => {})
    for (const socket of this.#sockets) socket.destroy(reason)
  }

  #watched(connect: Connector): Connector {
    return (options, callback) => {
      // The declaration says nothing of it, but the connector gives its socket out while it connects.
      const socket: unknown = connect(options, callback)
      if (socket instanceof Socket) this.#sockets = this.#sockets.concat(socket)
      return socket as ReturnType<Connector>
    }
  }
}

/** Connects one dial, and ends with it, or with the connection that the dial became. */
export function agentOfDial(url: URL, tcp: ResolvedTcp | false, signal: RequestInit['signal']): Dispatcher {
  const agent = new DialAgent(tcp)
  signal?.addEventListener('abort', () => agent.destroy(), { once: true })
  return agent.for(url.origin)
}

/** The same for a signal that may serve any number of requests: it holds nothing of this one once that is over. */
export function agentOfRequest(
  url: URL,
  tcp: ResolvedTcp | false,
  signal: RequestInit['signal'],
): Dispatcher {
  const dial = new AbortController()
  const cancel = () => dial.abort()
  return agentOfDial(url, tcp, dial.signal).compose(dispatch => (options, handler) => {
    const { onResponseEnd, onResponseError } = handler
    handler.onResponseEnd = (...end) => {
      signal?.removeEventListener('abort', cancel)
      onResponseEnd?.apply(handler, end)
    }
    handler.onResponseError = (...failure) => {
      signal?.removeEventListener('abort', cancel)
      // undici may have heard of the abort first, and would leave its connection behind.
      cancel()
      onResponseError?.apply(handler, failure)
    }
    signal?.addEventListener('abort', cancel, { once: true })
    return dispatch(options, handler)
  })
}
