/** The browser's own fetch, or the user's: connections, their timeouts and redirects are theirs. */
export function plainFetch(
  _tcp: unknown,
  customFetch: typeof globalThis.fetch | undefined,
  _settings?: unknown,
): typeof globalThis.fetch {
  return customFetch ?? globalThis.fetch.bind(globalThis)
}
