import type { ResilientSseOptions } from '../index.ts'

/** Spellings that cannot take effect here: connections are the browser's. */
export const UNAVAILABLE: readonly string[] = ['https', 'proxy', 'rejectUnauthorized']

/** The options, with a fetch that sends cookies to other origins, too, or to none. `undefined`: to this page's only. */
export function withCookies(
  cookies: 'include' | 'omit' | undefined,
  options: ResilientSseOptions,
): ResilientSseOptions {
  if (cookies === undefined) return options
  const { fetch = globalThis.fetch } = options
  return {
    ...options,
    fetch: (input, init) => fetch.call(globalThis, input, { ...init, credentials: cookies }),
  }
}
