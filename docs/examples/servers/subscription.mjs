// One client of a feed: a position in the replay buffer that all clients share. There is no queue of its own to grow.

const DONE = /** @type {const} */ ({ done: true, value: undefined })

/**
 * The body of a response, chunk by chunk, for whoever pulls it: `for await`, `Readable.from`, a `ReadableStream`.
 *
 * Written by hand, not as an async generator: `return()` on a generator queues behind its pending `next()`, so a client
 * that left would stay in the feed until the next event.
 * @implements {AsyncIterableIterator<string>}
 */
export class Subscription {
  /** Closes the connection without a word. To be set by whoever sends: a client that is cut must not be waited for. */
  onCut = () => {}
  /** The last event that was sent. */
  position
  #feed
  #heartbeatMs
  /** What is to be said before the next event. */
  #words
  #over = false
  #started = false
  #ending = false
  #wake = () => {}
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {import('./feed.mjs').Feed} feed
   * @param {number} position
   * @param {string} priming
   * @param {number} heartbeatMs
   */
  constructor(feed, position, priming, heartbeatMs) {
    this.#feed = feed
    this.position = position
    this.#words = priming
    this.#heartbeatMs = heartbeatMs
  }

  /** @returns {Promise<IteratorResult<string, undefined>>} */
  async next() {
    if (!this.#started) this.#start()
    for (;;) {
      // Fell behind what the buffer holds: the end, and a 410 when it comes back.
      if (this.#over || !this.#feed.has(this.position)) return this.return()
      const { text, position } = this.#feed.after(this.position)
      this.position = position
      const value = this.#words + text
      this.#words = ''
      // The last word. It leaves the feed when that has been taken, so that `end()` can wait for it; whoever is further
      // behind gets the rest from the next process.
      if (this.#ending) this.#over = true
      if (value !== '') return { done: false, value }
      await new Promise(resolve => {
        this.#wake = () => resolve(undefined)
      })
    }
  }

  /** The client has left. */
  async return() {
    this.#over = true
    clearInterval(this.#timer)
    this.#feed.leave(this)
    this.#wake()
    return DONE
  }

  /** There is something to send. */
  wake() {
    this.#wake()
  }

  /** Says goodbye; the client comes back after `retryMs`. @param {number} retryMs */
  end(retryMs) {
    this.#ending = true
    this.#words += `retry: ${retryMs}\n\n`
    this.#wake()
  }

  /** For a client that reads too slowly. */
  cut() {
    this.return()
    this.onCut()
  }

  [Symbol.asyncIterator]() {
    return this
  }

  // Only now, so that a response that is never read (an answer to HEAD) leaves nothing behind.
  #start() {
    this.#started = true
    this.#feed.join(this)
    // Also between events: a client learns the rhythm from comments, and notices sooner when they stay away. One that
    // does not read is owed one comment, not one for every 15 s.
    this.#timer = setInterval(() => {
      this.#words ||= ': heartbeat\n\n'
      this.#wake()
    }, this.#heartbeatMs)
  }
}
