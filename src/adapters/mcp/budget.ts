/**
 * Clean ends in a row that brought an id and no event: a server that lets its client poll (SEP-1699) and has nothing to
 * say yet. Each wait is longer than the one before, up to `backoff.maxMs`, so these are a quarter of an hour at least.
 */
const MAX_EMPTY_POLLS = 100

/**
 * How often a call is resumed in vain. Only an event with data is progress: a 200, comments, a priming event and a leg
 * that merely lived are what a flapping server sends each time.
 */
export class Budget {
  /** The leg that ends next has brought something, or was none of ours. */
  #progressed = true
  #failures = 0
  #polls = 0
  readonly #maxFailures: number

  constructor(maxFailures: number) {
    this.#maxFailures = maxFailures
  }

  progress(): void {
    this.#progressed = true
    this.#failures = 0
    this.#polls = 0
  }

  /** Whether there may be another attempt after this leg, or after this answer. */
  allows(isPoll: boolean): boolean {
    if (this.#progressed) {
      this.#progressed = false
      return true
    }
    return isPoll ? ++this.#polls < MAX_EMPTY_POLLS : ++this.#failures < this.#maxFailures
  }
}
