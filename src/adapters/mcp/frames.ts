import type { SseEvent } from '../../index.ts'

const encoder = new TextEncoder()

export function encode(text: string): Uint8Array {
  return encoder.encode(text)
}

/** An event as a block. Its id stays out where the SDK's own reconnect must not start beside ours. */
export function blockOf({ event, id, data }: SseEvent, withId: boolean): string {
  let block = ''
  if (event !== undefined) block += `event: ${event}\n`
  if (withId && id !== undefined) block += `id: ${id}\n`
  return `${block}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
}

export function commentLine(comment: string): string {
  return `:${comment}\n`
}

/** A JSON-RPC message as a block. */
export function messageBlock(message: object): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}

/** A block that tells an id and nothing else (SEP-1699). */
export function primingBlock(id: string): string {
  return `id: ${id}\ndata: \n\n`
}
