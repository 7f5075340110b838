/** `cause.code`s of a kept connection that the other side had closed before the request came. */
const STALE = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/**
 * A fetch of GETs that is tried again once, at once, by `again` when the first try met a kept connection that was closed.
 * Only GETs: a POST may have been carried out.
 */
export function againWhenStale(
  fetch: typeof globalThis.fetch,
  again: typeof globalThis.fetch,
): typeof globalThis.fetch {
  return async (input, init) => {
    try {
      return await fetch(input, init)
    } catch (error) {
      if (init?.signal?.aborted || !isStale(error)) throw error
      return again(input, init)
    }
  }
}

/** `cause.code`s of libuv, of name lookup, and of undici's sockets. */
const NETWORK = /^(E[A-Z]+|EAI_[A-Z]+|UND_ERR_(SOCKET|CONNECT_TIMEOUT|HEADERS_TIMEOUT))$/

export function isOfNetwork(error: unknown): boolean {
  return codesOf(error).some(code => NETWORK.test(code))
}

/** Whether a connection was made, and broke before the answer began. */
export function isStale(error: unknown): boolean {
  return codesOf(error).some(code => STALE.has(code))
}

function codesOf(error: unknown): string[] {
  const codes: string[] = []
  for (let link = error, depth = 0; link instanceof Error && depth < 8; link = link.cause, depth++)
    if ('code' in link) codes.push(String(link.code))
  return codes
}
