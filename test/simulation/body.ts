import type { Block, Request, Sent } from './history.ts'
import type { World } from './world.ts'

/** The body of a response: as much of a web stream as a client uses, and a record of what it was given. */
export class Body {
  over = false
  readonly #world: World
  readonly #request: Request
  readonly #sent: Sent
  readonly #queue: Uint8Array[] = []
  #written = 0
  /** Where the last block ends that was announced. */
  #announced = 0
  #end: { error: unknown } | 'end' | undefined
  #waiting: { resolve: (result: ReadResult) => void; reject: (error: unknown) => void } | undefined
  readonly #forgetSignal: () => void

  constructor(world: World, request: Request, signal: AbortSignal, place: { cursor: number; start: number }) {
    this.#world = world
    this.#request = request
    this.#sent = {
      ...place,
      blocks: [],
      handed: 0,
      reads: [],
      endRead: false,
      retries: [],
    }
    request.stream = this.#sent
    const onAbort = () => {
      this.#giveUp()
      if (!world.schedule.options.deafFetch)
        this.#waiting?.reject(new DOMException('This operation was aborted', 'AbortError'))
      this.#waiting = undefined
    }
    signal.addEventListener('abort', onAbort)
    this.#forgetSignal = () => signal.removeEventListener('abort', onAbort)
  }

  /** Announces the next `length` bytes as a block. */
  block(block: Omit<Block, 'end'>, length: number): void {
    this.#announced = Math.max(this.#announced, this.#written) + length
    this.#sent.blocks.push({ ...block, end: this.#announced })
  }

  retry(value: string): void {
    this.#sent.retries.push({ value, end: this.#written })
  }

  write(bytes: Uint8Array): void {
    if (this.#end !== undefined || this.over) return
    this.#written += bytes.length
    this.#queue.push(bytes)
    this.#flush()
  }

  end(): void {
    this.#finish('end', 'end')
  }

  /** As under fetch, what was sent and not yet read is lost with the connection. */
  break(error: unknown): void {
    this.#queue.length = 0
    this.#finish({ error }, 'reset')
  }

  getReader() {
    return { read: () => this.#read(), cancel: () => this.cancel() }
  }

  async cancel(): Promise<void> {
    this.#giveUp()
  }

  #read(): Promise<ReadResult> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#flush()
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    const value = this.#queue.shift()
    if (value === undefined && this.#end === undefined) return
    this.#waiting = undefined
    if (value !== undefined) {
      this.#sent.handed += value.length
      this.#sent.reads.push({ ...this.#world.moment(), bytes: value.length })
      waiting.resolve({ done: false, value })
    } else if (this.#end === 'end') {
      this.#sent.endRead = true
      waiting.resolve({ done: true, value: undefined })
    } else {
      this.#sent.endRead = true
      waiting.reject((this.#end as { error: unknown }).error)
    }
  }

  #finish(end: { error: unknown } | 'end', by: 'end' | 'reset'): void {
    if (this.#end !== undefined || this.over) return
    this.#end = end
    this.over = true
    this.#forgetSignal()
    this.#request.ended ??= { ...this.#world.moment(), by }
    this.#flush()
  }

  #giveUp(): void {
    this.over = true
    this.#queue.length = 0
    this.#forgetSignal()
    this.#request.ended ??= { ...this.#world.moment(), by: 'client' }
  }
}

type ReadResult = { done: false; value: Uint8Array } | { done: true; value: undefined }
