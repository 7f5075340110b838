import { refuse, refuseOption } from './checks.ts'
import { SseError } from './errors.ts'
import { mayHaveBody, toHeaders } from './http.ts'
import { checkDispatcher } from './layers/tcp.ts'
import type { HeadersOption, ResilientSseOptions } from './options.ts'

/** Checks what is sent, and gives the method as HTTP spells it. */
export function checkRequest(options: ResilientSseOptions & { method: string }): string {
  if (typeof options.method !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(options.method)) {
    refuse('method', options.method, 'an HTTP method')
  }
  const method = options.method.toUpperCase()
  if (['CONNECT', 'TRACE', 'TRACK'].includes(method)) refuse('method', method, 'a method that fetch allows')
  const { body, headers } = options
  if (body !== undefined && body !== null && !mayHaveBody(method)) {
    refuseOption('body', `${method} has none; set method`)
  }
  if (body instanceof ReadableStream) {
    refuseOption('body', 'a stream can be sent once only; give a function that makes a new one')
  }
  if (body !== undefined && body !== null && typeof body !== 'function' && !isBody(body)) {
    refuse('body', body, 'a string, bytes, a Blob, FormData, URLSearchParams, or a function that gives one')
  }
  if (typeof headers !== 'function') checkHeaders(headers)
  return method
}

/** Refuses at construction what {@link toHeaders} would refuse at the dial. */
function checkHeaders(headers: HeadersOption | undefined): void {
  try {
    toHeaders(headers)
  } catch (error) {
    throw new SseError('ERR_SSE_OPTION', (error as SseError).message)
  }
}

/** fetch sends whatever else it is given as text, such as "[object Object]". */
function isBody(body: unknown): boolean {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  return isObject ? Object.getPrototypeOf(body) !== Object.prototype : typeof body === 'string'
}

/** Three ways to connect, of which one can take effect. */
export function checkConnections(options: ResilientSseOptions): void {
  if (options.dispatcher !== undefined) checkDispatcher(options.dispatcher)
  for (const owner of ['fetch', 'dispatcher'] as const) {
    if (options[owner] === undefined || !options.tcp) continue
    refuseOption('tcp', `cannot take effect beside ${owner}, which makes its own connections`)
  }
  if (options.fetch !== undefined && options.dispatcher !== undefined) {
    refuseOption('dispatcher', 'cannot take effect beside fetch; bind it to that fetch')
  }
}
