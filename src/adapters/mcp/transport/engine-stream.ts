import { encode } from '../frames.ts'

/** A response to the engine of what is no stream on the wire, but is to be paced like one. */
export class EngineStream {
  readonly response: Response
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #isOver = false

  constructor() {
    const body = new ReadableStream<Uint8Array>({
      start: controller => {
        this.#controller = controller
      },
      cancel: () => {
        this.#isOver = true
      },
    })
    this.response = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  event(data: string, id?: number): void {
    if (!this.#isOver)
      this.#controller.enqueue(encode(`${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`))
  }

  break(error: unknown): void {
    if (!this.#isOver) this.#controller.error(error)
    this.#isOver = true
  }
}
