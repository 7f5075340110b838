/**
 * The connections of one stream, as the engine's fetch: the answer at hand first, if there is one, then whatever `next`
 * brings. So the engine need not know that the first leg was a POST.
 */
export class Legs {
  /** How many there were beside the first. */
  resumes = 0
  #first: Response | undefined
  readonly #next: typeof globalThis.fetch

  constructor(first: Response | undefined, next: typeof globalThis.fetch) {
    this.#first = first
    this.#next = next
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) {
      // The engine's signal ends the legs that it dialled, and knows nothing of this one.
      init?.signal?.addEventListener('abort', () => void first.body?.cancel().catch(() => {}), { once: true })
      return asPlainStream(first)
    }
    this.resumes++
    return this.#next(input, init)
  }

  /** Nobody will read the answer at hand. */
  discard(): void {
    this.#first?.body?.cancel().catch(() => {})
    this.#first = undefined
  }
}

/** The engine takes 200 for a stream and nothing else; a POST may be answered with 201 as well. */
function asPlainStream(response: Response): Response {
  if (!response.ok || response.status === 200) return response
  return new Response(response.body, { headers: response.headers })
}
