/** How many comments in a row make a zombie of a resumed leg: at the usual heartbeat of 15 s, 45 s. */
const COMMENTS = 3

/**
 * Tells a resumed standalone leg that is alive and cut off: the server knows no stream for the cursor (the example event
 * store of the SDKs answers so), keeps the connection open with comments, and sends what is new to nobody. A quiet
 * server looks the same, so the leg is given up and opened without the cursor, which costs a quiet server nothing. The
 * leg after that has it again: what a quiet server says while nobody listens is replayed.
 */
export class ZombieWatch {
  /** Not sent with the next leg. */
  #skipped: string | undefined
  /** Not sent any more: the server has said that it does not know it. */
  #refused: string | undefined
  #cursor: string | undefined
  #comments = 0

  /** A leg opens that was asked for with this cursor, unless it was left out. */
  opened(cursor: string | undefined): void {
    this.#cursor = this.#isLeftOut(cursor) ? undefined : cursor
    this.#skipped = undefined
    this.#comments = 0
  }

  /** An event came, or an id: this leg is connected. */
  alive(): void {
    this.#cursor = undefined
  }

  /** A comment came. Returns the cursor that is to be left out when the leg is now known for a zombie. */
  comment(): string | undefined {
    if (this.#cursor === undefined || ++this.#comments < COMMENTS) return undefined
    this.#skipped = this.#cursor
    return this.#cursor
  }

  /** The server refuses this cursor. Returns whether that is news. */
  refused(cursor: string): boolean {
    const isNews = this.#refused !== cursor
    this.#refused = cursor
    return isNews
  }

  /** Takes a cursor out of a request that is to be left out. */
  without(headers: Headers): Headers {
    if (this.#isLeftOut(headers.get('last-event-id') ?? undefined)) headers.delete('last-event-id')
    return headers
  }

  #isLeftOut(cursor: string | undefined): boolean {
    return cursor !== undefined && (cursor === this.#skipped || cursor === this.#refused)
  }
}
