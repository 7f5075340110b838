import type { Message } from './client.ts'

/** Tells the harness what happened to one stream, in order: the number in the address counts from 1. */
export class Callbacks {
  #told = 0
  #sent: Promise<void> = Promise.resolve()
  readonly #closed = new AbortController()
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  readonly tell = (message: Message): void => {
    const url = `${this.#url}/${++this.#told}`
    this.#sent = this.#sent.then(() => this.#send(url, message))
  }

  /** Whoever closes a stream wants to hear no more of it. */
  close(): void {
    this.#closed.abort()
  }

  async #send(url: string, message: Message): Promise<void> {
    const { signal } = this.#closed
    if (signal.aborted) return
    try {
      const { ok, status, body } = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        signal,
      })
      await body?.cancel()
      if (!ok) console.error(`callback ${url}: ${status}`)
    } catch (error) {
      if (!signal.aborted) console.error(`callback ${url}:`, error)
    }
  }
}
