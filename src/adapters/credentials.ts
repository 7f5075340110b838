import type { ResilientSseOptions } from '../index.ts'

/** Node has no cookies, and `fetch` none to send. */
export function withCredentials(_wanted: boolean, options: ResilientSseOptions): ResilientSseOptions {
  return options
}
