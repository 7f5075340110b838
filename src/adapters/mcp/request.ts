/** What the SDK asked its fetch for, whichever way it was said. */
export interface McpRequest {
  url: URL
  method: string
  headers: Headers
  /** The JSON text of a POST; `undefined` when the body is none or of another kind. */
  text: string | undefined
  signal: AbortSignal | undefined
  /** What another fetch is given. */
  init: RequestInit
}

/** A `Request` is taken apart: another fetch than the one that it belongs to may not know its class. */
export async function readRequest(
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<McpRequest> {
  const given = typeof input === 'object' && 'headers' in input ? input : undefined
  const ownText = given === undefined || given.body === null ? undefined : await given.clone().text()
  const body = init.body ?? ownText
  const headers = new Headers(init.headers ?? given?.headers)
  const method = (init.method ?? given?.method ?? 'GET').toUpperCase()
  const signal = init.signal ?? given?.signal ?? undefined
  // A compressing proxy collects a block before it sends any of it.
  if (acceptsStream(headers) && !headers.has('accept-encoding')) headers.set('accept-encoding', 'identity')
  const sent: RequestInit = { ...init, method, headers: Object.fromEntries(headers) }
  if (body !== undefined && body !== null) sent.body = body
  if (signal !== undefined) sent.signal = signal
  if (init.redirect === undefined && given !== undefined) sent.redirect = given.redirect
  return {
    url: new URL(given === undefined ? String(input) : given.url, globalThis.location?.href),
    method,
    headers,
    text: typeof body === 'string' ? body : undefined,
    signal,
    init: sent,
  }
}

export function acceptsStream(headers: Headers): boolean {
  return /\btext\/event-stream\b/i.test(headers.get('accept') ?? '')
}
