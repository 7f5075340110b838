import type { Batch, SseEvent } from '../../event.ts'

/** What a read has brought that is new, as blocks of an event stream. */
export function blocksOf({ events, cursorMoves }: Batch): string {
  let text = ''
  let move = 0
  const idsBefore = (at: number) => {
    for (; move < cursorMoves.length && (cursorMoves[move] as { at: number }).at <= at; move++)
      text += `id: ${(cursorMoves[move] as { id: string }).id}\n\n`
  }
  for (const [index, event] of events.entries()) {
    idsBefore(index)
    text += blockOf(event)
  }
  idsBefore(events.length)
  return text
}

function blockOf({ event, id, data }: SseEvent): string {
  let block = ''
  if (event !== undefined) block += `event: ${event}\n`
  if (id !== undefined) block += `id: ${id}\n`
  return `${block}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
}
