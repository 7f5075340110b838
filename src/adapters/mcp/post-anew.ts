import { isTakenOver } from './accept.ts'
import { Discovery } from './discovery.ts'
import { type Message, messagesIn, requestsIn } from './messages.ts'
import type { McpSettings } from './options.ts'
import { DISCOVER, mayReissue, RenamedIds } from './reissue.ts'
import { ReissuedStream } from './reissued-stream.ts'
import type { McpRequest } from './request.ts'
import { isStale } from './stale.ts'

/** What a wrapper knows across its requests of 2026-07-28. */
export interface WithoutResume {
  settings: McpSettings
  renamed: RenamedIds
  discovery: Discovery | undefined
}

export function withoutResume(settings: McpSettings): WithoutResume {
  const { discoverStore: store, openTimeoutMs: timeoutMs = 30_000, tellDiscover: tell } = settings
  const alone = { settings, renamed: new RenamedIds(), discovery: undefined }
  if (store === undefined) return alone
  const ask = (request: McpRequest) => postAnew(request, messagesIn(request.text), alone)
  return { ...alone, discovery: new Discovery({ store, tell, ask, timeoutMs }) }
}

/** From 2026-07-28 on, an answer that is lost can only be asked for anew, where the request may be sent again. */
export async function postAnew(
  request: McpRequest,
  messages: readonly Message[],
  { settings, renamed, discovery }: WithoutResume,
): Promise<Response> {
  const [first, ...others] = requestsIn(messages)
  // There are no batches: what a server makes of one is its own affair.
  if (first === undefined || others.length > 0) {
    const body = renamed.cancellation(messages)
    return settings.fetch(request.url, body === undefined ? request.init : { ...request.init, body })
  }
  const send = () =>
    settings.fetch(request.url, request.init).catch(error => {
      const isLost = isStale(error) && !request.signal?.aborted
      if (!isLost || !mayReissue(request, first, settings.resendTool)) throw error
      return undefined
    })
  const answer = await (discovery === undefined ? send() : discovery.answer(request, first, send))
  if (answer !== undefined && !isTakenOver(request, answer)) return answer
  const onResult =
    first.method === DISCOVER ? (result: unknown) => void discovery?.learn(request, first, result) : undefined
  return new ReissuedStream(answer, request, first, settings, renamed, onResult).response
}
