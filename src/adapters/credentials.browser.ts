import type { ResilientSseOptions } from '../index.ts'

/** The options, with a fetch that sends cookies to other origins, too. */
export function withCredentials(wanted: boolean, options: ResilientSseOptions): ResilientSseOptions {
  if (!wanted) return options
  const { fetch = globalThis.fetch } = options
  return {
    ...options,
    fetch: (input, init) => fetch.call(globalThis, input, { ...init, credentials: 'include' }),
  }
}
