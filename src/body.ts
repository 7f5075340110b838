import { SseError } from './errors.ts'

/** The bytes of a response body, as they come off the network. */
export interface ByteSource {
  /** Resolves to true when there are bytes to {@link take}, to false at the end of the body; rejects when it broke. */
  ready(): Promise<boolean>
  /** All bytes that have come since the last call. */
  take(): Uint8Array[]
  /** Nobody will read on. */
  cancel(reason: unknown): void
}

/** A body read through its web stream: for every fetch that is not ours. */
export class StreamSource implements ByteSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  #chunk: Uint8Array | undefined

  constructor(response: Response) {
    this.#reader = response.body?.getReader()
  }

  async ready(): Promise<boolean> {
    const result = await this.#reader?.read()
    this.#chunk = result?.value
    // By its kind, not by its class: test runners give each file classes of its own.
    if (this.#chunk === undefined || ArrayBuffer.isView(this.#chunk)) return this.#chunk !== undefined
    throw new SseError('ERR_SSE_REQUEST', 'fetch: its response has a body of something else than bytes')
  }

  take(): Uint8Array[] {
    return this.#chunk === undefined ? [] : [this.#chunk]
  }

  cancel(reason: unknown): void {
    // Not awaited: under some fetches it never settles.
    this.#reader?.cancel(reason).catch(() => {})
  }
}
