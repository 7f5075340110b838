import { SseError, type SseErrorInit, SseHttpError } from './errors.ts'
import type { DropReason } from './lifecycle.ts'

/** Statuses that speak of a moment, not of the request. */
const RETRIED_STATUS = new Set([408, 425, 429, 500, 502, 503, 504])
const REDIRECT_STATUS = new Set([301, 302, 303, 307, 308])

/** `cause.code`s of a server certificate that was refused (Node, OpenSSL). */
const CERTIFICATE_CODE =
  /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|CRL_|INVALID_CA|PATH_LENGTH_|INVALID_PURPOSE|ERROR_IN_CERT|ERROR_IN_CRL)/
/** `cause.code`s that come before there is a connection. */
const CONNECT_CODE = /^(EAI_|ENOTFOUND|ECONNREFUSED|EHOST|ENET|EADDR|UND_ERR_CONNECT)/
/**
 * `cause.code`s of the network: libuv's (files too: a socket may be one), getaddrinfo's, TLS's, undici's, the parser's.
 * UND_ERR_ABORTED is one: so undici calls a proxy that answers CONNECT with 502, as they do while they restart.
 */
const NETWORK_CODE =
  /^(E(AI_|ADDR|CONN|HOST|NET|NOTFOUND|MFILE|NFILE|NOBUFS|NOENT|PIPE|PROTO|TIMEDOUT|TIMEOUT|DESTRUCTION|SERVFAIL|REFUSED|NODATA)|ERR_SSL_|ERR_TLS_|ERR_HTTP2_|ERR_STREAM_PREMATURE_CLOSE|HPE_|HTTPParserError|UND_ERR_(?!INVALID_ARG|CLOSED|DESTROYED|NOT_SUPPORTED|REQ_CONTENT))/

export function isRedirect(status: number): boolean {
  return REDIRECT_STATUS.has(status)
}

/** Origin and path: what may stand in a text or an event. Query strings and credentials hold secrets. */
export function publicUrl(url: URL): string {
  return url.origin + url.pathname
}

/** [spec] "If … Content-Type is not text/event-stream": any parameters, any case. */
export function isEventStream(headers: Pick<Headers, 'get'>): boolean {
  const type = headers.get('content-type')?.split(';', 1)[0]
  return type?.trim().toLowerCase() === 'text/event-stream'
}

/**
 * Whether the end of this response's body proves that it is complete. Chunked and Content-Length bodies can be seen to
 * be cut; a close-delimited one (HTTP/1.0 style) ends the same way when it is reset.
 */
export function hasFraming(headers: Headers, mayBeUnframed: boolean): boolean {
  if (/\bchunked\b/i.test(headers.get('transfer-encoding') ?? '') || headers.has('content-length'))
    return true
  // HTTP/2 and fetches that hide framing (mocks, browsers) show neither, and no Connection header.
  return mayBeUnframed && !headers.has('connection')
}

/** What a response means: a stream (`undefined`), the end (`'end'`), or an error that says whether to dial again. */
export function judgeResponse(
  response: Response,
  url: URL,
  everOpened: boolean,
): SseHttpError | 'end' | undefined {
  const { status, headers } = response
  const at = publicUrl(url)
  if (status === 204) return 'end'
  if (status === 200) {
    if (isEventStream(headers)) return undefined
    const type = headers.get('content-type')?.split(';', 1)[0] ?? 'no content type'
    return new SseHttpError(
      'ERR_SSE_CONTENT_TYPE',
      `${at} answered 200 with ${type}, not text/event-stream`,
      {
        // A proxy's error page passes; an address that never served events does not become right by asking again.
        retryable: everOpened,
        status,
        url: at,
        headers,
      },
    )
  }
  return new SseHttpError('ERR_SSE_HTTP', `${at} answered ${status}`, {
    retryable: RETRIED_STATUS.has(status),
    retryAfterMs: retryAfter(headers, Date.now()),
    status,
    url: at,
    headers,
  })
}

/** Retry-After in milliseconds (RFC 9110, 10.2.3): seconds or a date; `undefined` when absent or neither. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1_000
  // Date.parse takes more than HTTP does ('1.5' is a day in 2001), and the old form without a zone for local time.
  const date = /^[A-Z][a-z]+,? /.test(value) ? Date.parse(value.replace(/(?<! GMT)$/, ' GMT')) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** What a failure before the headers means. Classified by `cause.code`, never by message. */
export function dialFailure(
  error: unknown,
  host: string,
  custom: boolean,
  everOpened: boolean,
  written = false,
): SseError {
  if (error instanceof SseError) return error
  const code = causeCode(error)
  const at = code === '' ? host : `${host} (${code})`
  if (CERTIFICATE_CODE.test(code)) {
    return new SseError('ERR_SSE_CERTIFICATE', `The certificate of ${at} was refused`, {
      cause: error,
      // A certificate that was good an hour ago is being renewed, or a captive portal is in the way.
      retryable: everOpened,
    })
  }
  if (NETWORK_CODE.test(code) || (code === '' && custom && isFetchNetworkError(error))) {
    const unanswered = written && !CONNECT_CODE.test(code)
    const what = /^ERR_(SSL|TLS)_/.test(code) ? `TLS with ${at} failed` : `No connection to ${at}`
    const text = unanswered ? `${at} gave no answer to the request` : what
    return new SseError('ERR_SSE_NETWORK', text, { cause: error, retryable: true })
  }
  return new SseError('ERR_SSE_REQUEST', `The request to ${at} could not be made`, { cause: error })
}

/** What it means that a `url`, `headers` or `body` function failed: the network's failures of its own are passing ones. */
export function functionFailure(name: string, error: unknown): SseError {
  if (error instanceof SseError) return error
  const code = causeCode(error)
  return NETWORK_CODE.test(code)
    ? new SseError('ERR_SSE_NETWORK', `The ${name} function failed (${code})`, {
        cause: error,
        retryable: true,
      })
    : new SseError('ERR_SSE_REQUEST', `The ${name} function threw`, { cause: error })
}

/** What a failure while reading the body means: the network, whatever it is called. */
export function readFailure(error: unknown): SseError {
  if (error instanceof SseError) return error
  const code = causeCode(error)
  // undici's word for a chunked body without its last chunk.
  const cut = code === 'HTTPParserError'
  const text = cut ? 'The connection was closed in the middle of the response' : 'The connection broke'
  const init: SseErrorInit = { cause: error, retryable: true }
  return new SseError('ERR_SSE_NETWORK', code === '' || cut ? text : `${text} (${code})`, init)
}

/** A browser's or a mock's fetch tells every network error as a bare TypeError; timeouts of its own as TimeoutError. */
function isFetchNetworkError(error: unknown): boolean {
  return (
    error instanceof TypeError || (error instanceof Error && /^(TimeoutError|AbortError)$/.test(error.name))
  )
}

/** The first code on the way down the causes; `''` when none has one. */
function causeCode(error: unknown): string {
  for (let link = error, depth = 0; link instanceof Error && depth < 8; link = link.cause, depth++) {
    if ('code' in link && typeof link.code === 'string') return link.code
    // What undici's parser cannot read has a code for some faults and none for others; all of it came off the network.
    if (link.name === 'HTTPParserError') return link.name
    // Happy eyeballs tells all its attempts; they failed alike for our purpose.
    if (link instanceof AggregateError) return causeCode(link.errors[0])
  }
  return ''
}

/** The error of a lost connection or a failed dial, as a word for the lifecycle. */
export function dropReason(error: SseError): DropReason {
  switch (error.code) {
    case 'ERR_SSE_END':
      return 'end'
    case 'ERR_SSE_HEARTBEAT':
      return 'silence'
    case 'ERR_SSE_ROTATED':
      return 'rotate'
    case 'ERR_SSE_NETWORK':
    case 'ERR_SSE_CERTIFICATE':
    case 'ERR_SSE_OPEN_TIMEOUT':
      return 'network'
    default:
      return 'refused'
  }
}
