import { initOf, type PlainRequest } from '../../plain-request.ts'
import { openTimeout } from '../../request.ts'

/** Sends the request and gives it up when no headers come in time. */
export async function withinOpenTimeout(
  ms: number,
  request: PlainRequest,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(openTimeout(ms, true)), ms)
  const given = request.rest.signal
  const signal = given ? AbortSignal.any([given, limit.signal]) : limit.signal
  try {
    return await fetch(request.url, { ...initOf(request), signal })
  } finally {
    clearTimeout(timer)
  }
}
