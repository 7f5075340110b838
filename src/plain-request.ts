import type { BodyOption } from './options.ts'
import { race } from './race.ts'

/** What a fetch was asked for, whichever way it was said. */
export interface PlainRequest {
  url: URL
  method: string
  headers: Headers
  body: BodyOption | null | undefined
  /** `signal`, `redirect`, `credentials` and whatever else was given. */
  rest: RequestInit
}

/** What a `Request` says beside its URL, method, headers and body. */
const INHERITED = [
  ...(['signal', 'redirect', 'credentials', 'mode', 'cache', 'integrity', 'keepalive'] as const),
  ...(['referrer', 'referrerPolicy'] as const),
] as const satisfies readonly (keyof Request & keyof RequestInit)[]

/** A `Request` is taken apart: another fetch than the one that it belongs to may not know its class. */
export async function plainRequest(
  input: string | URL | Request,
  given?: RequestInit | null,
): Promise<PlainRequest> {
  const request = typeof input === 'object' && 'headers' in input ? input : undefined
  const { method, headers, body, ...others } = given ?? {}
  // By name, because another Request may stand in place of the options, and has none of its own.
  const inherited = INHERITED.map(name => [name, given?.[name] ?? request?.[name]])
  const rest = Object.entries({ ...Object.fromEntries(inherited), ...others })
  const ownBody = request && (body ?? undefined) === undefined ? await bodyOf(request) : undefined
  return {
    url: new URL(request === undefined ? String(input) : request.url, globalThis.location?.href),
    method: normalized(method ?? request?.method ?? 'GET'),
    headers: new Headers(headers ?? request?.headers),
    body: (body ?? ownBody) as PlainRequest['body'],
    rest: Object.fromEntries(rest.filter(([, value]) => value !== undefined)),
  }
}

/** As a whole: a stream could not follow a redirect. */
async function bodyOf(request: Request): Promise<ArrayBuffer | undefined> {
  return request.body === null ? undefined : race(request.signal, () => request.arrayBuffer())
}

/** [Fetch] "normalize a method": these, and no others. */
function normalized(method: string): string {
  return /^(DELETE|GET|HEAD|OPTIONS|POST|PUT)$/i.test(method) ? method.toUpperCase() : method
}

/** The second argument of another fetch. Its headers are plain, because wrappers spread them. */
export function initOf({ method, headers, body, rest }: PlainRequest): RequestInit {
  const init: RequestInit = { ...rest, method, headers: Object.fromEntries(headers) }
  if (body !== undefined && body !== null) init.body = body as BodyInit
  // [Fetch] a stream may be sent only with this said.
  if (body instanceof ReadableStream) Object.assign(init, { duplex: 'half' })
  return init
}

/** Whether this request can be answered with an event stream. */
export function acceptsStream(headers: Headers): boolean {
  return /\btext\/event-stream\b/i.test(headers.get('accept') ?? '')
}
