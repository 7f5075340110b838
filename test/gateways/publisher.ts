import { EventLog } from 'resilient-sse/testing'

/** A log of numbered events that knows when each was published. */
export class Publisher {
  readonly log = new EventLog({ count: 0 })
  readonly #at: number[] = []
  #timer: NodeJS.Timeout | undefined

  publish(count = 1, chars = 0): void {
    for (; count > 0; count--) {
      const number = this.#at.push(performance.now())
      this.log.push({ id: String(number), data: `number ${number}${'.'.repeat(chars)}` })
    }
  }

  publishEvery(ms: number, chars = 0): void {
    this.#timer = setInterval(() => this.publish(1, chars), ms)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** 1, 2, 3 … up to the event that was published last. */
  get numbers(): number[] {
    return this.#at.map((_, index) => index + 1)
  }

  publishedAt(number: number): number {
    return this.#at[number - 1] ?? Number.NaN
  }

  [Symbol.dispose](): void {
    this.stop()
  }
}
