import type { SseEvent } from '../../event.ts'

/** An event as a block of an event stream. */
export function blockOf({ event, id, data }: SseEvent): string {
  let block = ''
  if (event !== undefined) block += `event: ${event}\n`
  if (id !== undefined) block += `id: ${id}\n`
  return `${block}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
}
