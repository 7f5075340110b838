import { ResilientSse } from 'resilient-sse'
import type { Client, Message, Stream, StreamParameters } from './client.ts'

/** Streams read with `for await`. */
export const resilientSse: Client = {
  name: 'resilient-sse',
  capabilities: [
    'bom',
    'comments',
    'event-type-listeners',
    'headers',
    'last-event-id',
    'post',
    'read-timeout',
    'report',
    'restart',
    'server-directed-shutdown-request',
  ],
  start(parameters, tell) {
    const reader = new Reader(parameters, tell)
    void reader.read()
    return reader
  },
}

class Reader implements Stream {
  readonly #stream: ResilientSse
  readonly #tell: (message: Message) => void
  /** A failure that ends the stream is a drop first, and then thrown. */
  #lastDrop: unknown

  constructor(parameters: StreamParameters, tell: (message: Message) => void) {
    const { streamUrl, initialDelayMs, readTimeoutMs, lastEventId, headers, method, body } = parameters
    this.#tell = tell
    this.#stream = new ResilientSse(streamUrl, {
      method,
      headers,
      // As a function, because the harness wants a POST sent again.
      ...(body !== undefined && { body: () => body }),
      backoff: { baseMs: initialDelayMs },
      heartbeat: { timeoutMs: readTimeoutMs },
      resume: { lastEventId },
      onComment: comment => tell({ kind: 'comment', comment }),
      onLifecycle: event => {
        // A connection that was given up on request is no error.
        if (event.type === 'drop' && event.reason !== 'rotate') this.#dropped(event.error)
      },
    })
  }

  async read(): Promise<void> {
    try {
      for await (const { event = 'message', data } of this.#stream)
        this.#tell({ kind: 'event', event: { type: event, data, id: this.#stream.lastEventId } })
    } catch (error) {
      if (error !== this.#lastDrop) this.#tell({ kind: 'error', error: String(error) })
    }
  }

  #dropped(error: Error): void {
    this.#lastDrop = error
    this.#tell({ kind: 'error', error: String(error) })
  }

  /** The loop is handed events of every type. */
  listen(): void {}

  restart(): void {
    this.#stream.reconnect()
  }

  close(): Promise<void> {
    return this.#stream.close()
  }
}
