import { type Dialled, type Hop, judged, requestOf } from './hop.ts'
import type { Transport } from './transport.ts'

/** No header that would need a preflight. `Cache-Control` would, so the cache is told by `cache: 'no-store'`. */
export const PROTOCOL_HEADERS: Hop['protocolHeaders'] = [['accept', 'text/event-stream']]

/** Sends the request. Redirects are the browser's: it shows neither their status nor their Location. */
export async function send(
  hop: Hop,
  transport: Transport,
  abort: AbortController,
  everOpened: boolean,
  onWritten: () => void,
): Promise<Dialled | undefined> {
  abort.signal.throwIfAborted()
  const init = { ...requestOf(hop, abort.signal), cache: 'no-store' as const }
  // [Fetch] across origins this header asks for a preflight, which the URL's parameter makes needless.
  if (hop.cursorInUrl && hop.url.origin !== globalThis.origin) init.headers.delete('last-event-id')
  const answer = await transport.fetch(hop.url, init, onWritten)
  const url = answer.response.url === '' ? hop.url : new URL(answer.response.url)
  return judged(answer, url, { abort, everOpened, mayBeUnframed: transport.mayBeUnframed })
}
