import { createParser } from 'eventsource-parser'
import type { SseError } from 'resilient-sse'

export const STREAM = { headers: { accept: 'text/event-stream' } }

/** What a client of a stream makes of a body. */
export interface Received {
  text: string
  events: { id: string | undefined; data: string }[]
  /** How the body ended, if not cleanly. */
  error: SseError | undefined
}

/** Reads until `enough`, then cancels; or to the end. */
export async function receive(
  response: Response,
  enough: (received: Received) => boolean = () => false,
): Promise<Received> {
  const received: Received = { text: '', events: [], error: undefined }
  const parser = createParser({ onEvent: ({ id, data }) => received.events.push({ id, data }) })
  const decoder = new TextDecoder()
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  try {
    while (!enough(received)) {
      const { done, value } = await reader.read()
      if (done) return received
      const text = decoder.decode(value, { stream: true })
      received.text += text
      parser.feed(text)
    }
    await reader.cancel()
  } catch (error) {
    received.error = error as SseError
  }
  return received
}

/** The whole text of a body that ends. */
export async function textOf(response: Response): Promise<string> {
  const { text, error } = await receive(response)
  if (error !== undefined) throw error
  return text
}
