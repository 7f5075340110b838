import { ResilientSse } from '../../../index.ts'
import type { McpSettings, McpStream } from '../options.ts'
import { EngineStream } from './engine-stream.ts'

const HOUR_MS = 3_600_000

/**
 * Tries again what has failed, at the pace of layer 4: to its engine each try is a connection that breaks.
 *
 * @throws The engine's error, whose `cause` is the last failure, when `backoff.maxAttempts` of them came in a row; what
 * `attempt` throws that is not worth another try; the signal's reason.
 */
export async function triedAgain(
  failure: unknown,
  attempt: () => Promise<void>,
  isWorthIt: (error: unknown) => boolean,
  {
    url,
    signal,
    settings,
    stream,
  }: { url: URL; signal: AbortSignal; settings: McpSettings; stream: McpStream },
): Promise<void> {
  let now = new EngineStream()
  const engine = new ResilientSse(url, {
    signal,
    fetch: async () => {
      now = new EngineStream()
      now.event('try')
      return now.response
    },
    // A try that was long in failing is no success.
    backoff: { ...settings.backoff, resetAfterMs: HOUR_MS },
    breaker: false,
    heartbeat: false,
    resume: false,
    dedupe: false,
    onLifecycle: event => event.type === 'wait' && settings.tell(event, stream),
  })
  let last = failure
  let isFirst = true
  for await (const _ of engine) {
    if (!isFirst) {
      try {
        return await attempt()
      } catch (error) {
        if (!isWorthIt(error)) throw error
        last = error
      }
    }
    isFirst = false
    now.break(last)
  }
}
