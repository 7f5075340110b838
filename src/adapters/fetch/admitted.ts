import { SseCircuitOpenError } from '../../errors.ts'
import { Breaker } from '../../layers/breaker.ts'
import { dialFailure, isEventStream, judgeResponse } from '../../outcome.ts'

/**
 * Dials if the breaker agrees, and tells it of a failure. What becomes of a stream that opened is told by the stream, as the
 * same asker. Only a shared breaker knows anything before the first dial.
 *
 * @throws SseCircuitOpenError whichever `onOpen` it has: no client expects a fetch that waits for minutes.
 */
export async function throughBreaker(
  breaker: unknown,
  asker: object,
  dial: () => Promise<Response>,
): Promise<Response> {
  if (!(breaker instanceof Breaker)) return dial()
  const admission = breaker.admit(asker, performance.now())
  if (!admission.go) {
    throw new SseCircuitOpenError({
      failures: breaker.failures,
      retryAt: Math.round(Date.now() + admission.retryInMs),
      lastEventId: undefined,
      cause: undefined,
    })
  }
  const tell = (isFailure: boolean) => {
    if (isFailure) breaker.failed(asker, performance.now())
    else breaker.release(asker, performance.now())
  }
  try {
    const response = await dial()
    if (response.status === 200 && isEventStream(response.headers)) return response
    const verdict = judgeResponse(response, new URL('http://unused.invalid'), false)
    tell(typeof verdict === 'object' && verdict.retryable)
    return response
  } catch (error) {
    // An abort is the caller's own doing, and a refused certificate will be refused again.
    tell(dialFailure(error, '', true, false).retryable && (error as Error).name !== 'AbortError')
    throw error
  }
}
