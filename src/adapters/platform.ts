import type { ResilientSseOptions } from '../index.ts'

/** Spellings that cannot take effect here. */
export const UNAVAILABLE: readonly string[] = []

/** Node has no cookies, and `fetch` none to send. */
export function withCookies(
  _cookies: 'include' | 'omit' | undefined,
  options: ResilientSseOptions,
): ResilientSseOptions {
  return options
}
