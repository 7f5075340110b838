import { EventSource } from 'resilient-sse/eventsource'
import type { Client, Message, Stream, StreamParameters } from './client.ts'
import { resilientSse } from './resilient-sse.ts'

/** Streams listened to as those of the DOM are. */
export const eventSource: Client = {
  name: 'resilient-sse/eventsource',
  capabilities: resilientSse.capabilities,
  start: (parameters, tell) => new Listener(parameters, tell),
}

class Listener implements Stream {
  readonly #source: EventSource
  readonly #tell: (message: Message) => void
  #hadId = false

  constructor(parameters: StreamParameters, tell: (message: Message) => void) {
    const { streamUrl, initialDelayMs, readTimeoutMs, lastEventId, headers, method, body } = parameters
    this.#tell = tell
    this.#source = new EventSource(streamUrl, {
      method,
      headers,
      // As a function, because the harness wants a POST sent again.
      ...(body !== undefined && { body: () => body }),
      initialRetryDelayMillis: initialDelayMs,
      readTimeoutMillis: readTimeoutMs,
      lastEventId,
      onComment: comment => tell({ kind: 'comment', comment }),
    })
    this.listen('message')
    this.#source.onerror = event => {
      // The server may call its events so; and 204 is an end that it asked for.
      if (event instanceof MessageEvent || event.status === 204) return
      tell({ kind: 'error', error: String(event.error) })
    }
  }

  listen(type: string): void {
    this.#source.addEventListener(type, event => {
      if (!(event instanceof MessageEvent)) return
      const { data, lastEventId } = event
      this.#hadId ||= lastEventId !== ''
      // Empty both before the first id and after one was emptied.
      this.#tell({ kind: 'event', event: { type, data, id: this.#hadId ? lastEventId : undefined } })
    })
  }

  restart(): void {
    this.#source.reconnect()
  }

  async close(): Promise<void> {
    this.#source.close()
  }
}
