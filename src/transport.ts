import { type Dispatcher, FormData as UndiciFormData, fetch as undiciFetch } from 'undici'
import { StreamSource } from './body.ts'
import { agentOfDial } from './dial-agent.ts'
import { foreignTransport, type Transport } from './foreign-transport.ts'
import type { ResolvedTcp } from './layers/tcp.ts'
import { type BodyHandler, TapSource } from './tap.ts'

export type { Transport } from './foreign-transport.ts'

/** undici's own fetch bound to layer 1's agent (an Agent handed to another fetch fails), or the user's. */
export function createTransport(
  tcp: ResolvedTcp | false,
  dispatcher: Dispatcher | undefined,
  customFetch: typeof globalThis.fetch | undefined,
): Transport {
  if (customFetch !== undefined) return foreignTransport(customFetch)
  return {
    async fetch(url, init, onWritten) {
      const agent = dispatcher ?? agentOfDial(url, tcp, init.signal)
      const tap = new TapSource()
      // A dispatcher for one dial, to learn that its request has left and to take its body.
      const dial = {
        dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
          return agent.dispatch(options, tap.handlerFor(handler as BodyHandler, onWritten) as typeof handler)
        },
      }
      const init7 = { ...init, body: forUndici(init.body), dispatcher: dial }
      const response = (await undiciFetch(url, init7 as never)) as unknown as Response
      return { response, body: () => tap.takeOver(init.signal) ?? new StreamSource(response) }
    },
    custom: false,
    mayBeUnframed: dispatcher !== undefined || (tcp !== false && tcp.allowH2),
  }
}

/** undici sends the platform's own FormData as "[object FormData]". */
export function forUndici(body: RequestInit['body']): unknown {
  if (!(body instanceof FormData)) return body
  const copy = new UndiciFormData()
  for (const [name, value] of body) copy.append(name, value as string)
  return copy
}
