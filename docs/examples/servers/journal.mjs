// The events a restart must not forget, in one file: a line of JSON for each, written before anybody is sent it.
import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/**
 * Written synchronously, because the order matters: an id that a client has seen must be in the file, or the next
 * process would give it to another event. This survives `kill -9`. For a power failure, too, take a database (its
 * sequence is the id) or call fsync.
 */
export class Journal {
  /** Tells this numbering from every other. A new file is a new epoch, so ids of a lost one are never taken for its own. */
  epoch = randomBytes(4).toString('hex')
  #file
  #lines = 0

  /** @param {string | undefined} file Without one nothing is kept, and each process is an epoch of its own. */
  constructor(file) {
    this.#file = file
  }

  /** The events of the processes before this one. @returns {import('./feed.mjs').FeedEvent[]} */
  load() {
    if (this.#file === undefined || !existsSync(this.#file)) return []
    // What follows the last line feed was cut off by a crash while it was written, and so was sent to nobody.
    const [head = '', ...lines] = readFileSync(this.#file, 'utf8').split('\n').slice(0, -1)
    this.epoch = JSON.parse(head).epoch
    return lines.map(line => JSON.parse(line))
  }

  /** @param {import('./feed.mjs').FeedEvent} event */
  append(event) {
    if (this.#file === undefined) return
    appendFileSync(this.#file, `${JSON.stringify(event)}\n`)
    this.#lines++
  }

  /** Whether it holds so much more than `count` events that it should be rewritten. @param {number} count */
  isLong(count) {
    return this.#lines > 2 * count + 1_000
  }

  /** Keeps these events only. @param {Iterable<import('./feed.mjs').FeedEvent>} events */
  rewrite(events) {
    if (this.#file === undefined) return
    const lines = [{ epoch: this.epoch }, ...events].map(line => `${JSON.stringify(line)}\n`)
    writeFileSync(`${this.#file}.new`, lines.join(''))
    // A rename is all or nothing: a crash leaves the old file or the new one.
    renameSync(`${this.#file}.new`, this.#file)
    this.#lines = lines.length - 1
  }
}
