import { refuseOption } from './checks.ts'
import { SseError } from './errors.ts'
import type { HeadersOption } from './options.ts'

// What HTTP allows, in words that name the option.

const METHODS_WITHOUT_BODY = new Set(['GET', 'HEAD'])
const NO_HEADERS = 'neither an object nor Headers nor a list of pairs'

export function mayHaveBody(method: string): boolean {
  return !METHODS_WITHOUT_BODY.has(method)
}

/** The URL as an object, or `ERR_SSE_OPTION` in words that do not repeat it: it may hold secrets. */
export function parseUrl(given: unknown): URL {
  let url: URL
  try {
    url = new URL(String(given))
  } catch {
    refuseOption('url', 'not an absolute URL')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    refuseOption('url', `${url.protocol} is not http: or https:`)
  }
  if (url.username !== '' || url.password !== '') {
    refuseOption('url', 'holds credentials; send them as headers: { authorization }')
  }
  url.hash = ''
  return url
}

/** RFC 9110, 5.5, with outer white space, which is trimmed. */
const FIELD_VALUE = /^[\t\n\r \x21-\x7e\x80-\xff]*$/

/** `Headers`, with an error that names the header and never repeats its value. */
export function toHeaders(given: HeadersOption | undefined): Headers {
  const headers = new Headers()
  if (given === undefined || given === null) return headers
  if (typeof given !== 'object') throw new SseError('ERR_SSE_REQUEST', `headers: ${NO_HEADERS}`)
  // A Map and the Headers of undici are iterable, and no instances of the platform's Headers.
  const entries: Iterable<unknown> = Symbol.iterator in given ? given : Object.entries(given)
  for (const entry of entries) {
    if (!Array.isArray(entry)) throw new SseError('ERR_SSE_REQUEST', `headers: ${NO_HEADERS}`)
    const [name, value] = entry
    if (value === undefined || value === null) continue
    try {
      // The platform's Headers let control characters through, on which only the connection stumbles.
      if (!FIELD_VALUE.test(String(value))) throw new TypeError('not a field value')
      headers.append(String(name), String(value))
    } catch {
      throw new SseError(
        'ERR_SSE_REQUEST',
        `headers: ${JSON.stringify(name)} has a name or value that HTTP does not allow`,
      )
    }
  }
  return headers
}
