import { type SseError, SseHttpError } from '../../index.ts'

/**
 * What the end of a leg, or the answer to a resume, means: try `again`; `session-lost`, nothing of it is left;
 * `not-resumable`, the server does not resume; `unauthorized`, credentials have to be fetched, which is the SDK's work;
 * `final` for what would only come again.
 */
export type Verdict = 'again' | 'session-lost' | 'not-resumable' | 'unauthorized' | 'final'

export function verdictOn(error: SseError): Verdict {
  if (error.code !== 'ERR_SSE_HTTP' || !(error instanceof SseHttpError))
    return error.retryable ? 'again' : 'final'
  const { status } = error
  if (status === 404 || status === 410) return 'session-lost'
  if (status === 400 || status === 405) return 'not-resumable'
  if (status === 401 || status === 403) return 'unauthorized'
  // 409: the server has not yet noticed that the leg before is gone.
  if (status >= 500 || [408, 409, 425, 429].includes(status)) return 'again'
  return 'final'
}
