/** How many comments in a row make a zombie of a resumed leg: at the usual heartbeat of 15 s, 45 s. */
const COMMENTS = 3

/**
 * Tells a resumed standalone leg that is alive and cut off: the server knows no stream for the cursor (the example event
 * store of the SDKs answers so), keeps the connection open with comments, and sends what is new to nobody. A quiet
 * server looks the same, so the leg is given up and opened without the cursor, which costs a quiet server nothing.
 */
export class ZombieWatch {
  /** The cursor that a leg was given up for: it is not sent again. */
  #forgotten: string | undefined
  #cursor: string | undefined
  #comments = 0

  /** A leg opens. */
  opened(cursor: string | undefined): void {
    this.#cursor = cursor === this.#forgotten ? undefined : cursor
    this.#comments = 0
  }

  /** An event came, or an id: this leg is connected. */
  alive(): void {
    this.#cursor = undefined
  }

  /** A comment came. Returns the cursor that is to be forgotten when the leg is now known for a zombie. */
  comment(): string | undefined {
    return this.#cursor !== undefined && ++this.#comments >= COMMENTS ? this.#cursor : undefined
  }

  /** The server can make nothing of this cursor. Returns whether that is news. */
  forget(cursor: string): boolean {
    const isNews = this.#forgotten !== cursor
    this.#forgotten = cursor
    return isNews
  }

  /** Takes a forgotten cursor out of a request. */
  without(headers: Headers): Headers {
    if (headers.get('last-event-id') === this.#forgotten) headers.delete('last-event-id')
    return headers
  }
}
