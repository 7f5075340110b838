/** The browser's own fetch, or the user's: connections and redirects are theirs. */
export function plainFetch(
  _tcp: unknown,
  customFetch: typeof globalThis.fetch | undefined,
): typeof globalThis.fetch {
  return customFetch ?? globalThis.fetch.bind(globalThis)
}
