import { SseError } from '../../errors.ts'
import { initOf, type PlainRequest } from '../../plain-request.ts'

/** Sends the request and gives it up when no headers come in time. */
export async function withinOpenTimeout(
  ms: number,
  request: PlainRequest,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  const limit = new AbortController()
  const timer = setTimeout(() => {
    const text = `No response headers within openTimeoutMs, ${ms}`
    limit.abort(new SseError('ERR_SSE_OPEN_TIMEOUT', text, { retryable: true }))
  }, ms)
  const given = request.rest.signal
  const signal = given ? AbortSignal.any([given, limit.signal]) : limit.signal
  try {
    return await fetch(request.url, { ...initOf(request), signal })
  } finally {
    clearTimeout(timer)
  }
}
