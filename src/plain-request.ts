import type { BodyOption } from './options.ts'

/** What a fetch was asked for, whichever way it was said. */
export interface PlainRequest {
  url: URL
  method: string
  headers: Headers
  body: BodyOption | null | undefined
  /** `signal`, `redirect`, `credentials` and whatever else was given. */
  rest: RequestInit
}

/** A `Request` is taken apart: another fetch than the one that it belongs to may not know its class. */
export async function plainRequest(
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<PlainRequest> {
  const request = typeof input === 'object' && 'headers' in input ? input : undefined
  const ownBody = request === undefined || request.body === null ? undefined : await request.arrayBuffer()
  const { method, headers, body, ...rest } = init
  const { signal, redirect, credentials } = request ?? {}
  const given = Object.entries({ signal, redirect, credentials, ...rest })
  return {
    url: new URL(request === undefined ? String(input) : request.url, globalThis.location?.href),
    method: (method ?? request?.method ?? 'GET').toUpperCase(),
    headers: new Headers(headers ?? request?.headers),
    body: (body ?? ownBody) as PlainRequest['body'],
    rest: Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  }
}

/** The second argument of another fetch. Its headers are plain, because wrappers spread them. */
export function initOf({ method, headers, body, rest }: PlainRequest): RequestInit {
  const init: RequestInit = { ...rest, method, headers: Object.fromEntries(headers) }
  if (body !== undefined && body !== null) init.body = body as BodyInit
  return init
}

/** Whether this request can be answered with an event stream. */
export function acceptsStream(headers: Headers): boolean {
  return /\btext\/event-stream\b/i.test(headers.get('accept') ?? '')
}
