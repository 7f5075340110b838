import type { Block, Delivery, History, Life, Request, Sent } from '../history.ts'

/** What became of a block that a connection carried. */
export interface Fate {
  block: Block
  /** Which of the client's reads brought its end. */
  read: number
  /** The event that the consumer got for it. */
  delivery: Delivery | undefined
  /**
   * Whether the client is known to have read it: an event after it was delivered, or a later dial shows that the client
   * was done with these bytes. The last read before the client gave a connection up may have been thrown away.
   */
  certain: boolean
}

/** A connection as both sides saw it. */
export interface Connection {
  request: Request
  sent: Sent
  /** The blocks whose bytes were all handed to the client, in order. */
  fates: Fate[]
  /** What the consumer got that this connection did not carry whole, or not in this order. */
  strangers: Delivery[]
  /** Whether the client dialled again afterwards: until then it hands out all that it has read. */
  isLast: boolean
}

/** The connections of a life. An event belongs to the last one that was answered before it was handed out. */
export function connectionsOf(history: History, life: Life): Connection[] {
  const own = history.requests.filter(request => request.life === life.nr)
  const streams = own.filter(({ stream, answered }) => stream !== undefined && answered !== undefined)
  let next = 0
  return streams.map((request, index) => {
    const until = streams[index + 1]?.answered?.seq ?? Number.POSITIVE_INFINITY
    const from = next
    while (next < life.deliveries.length && (life.deliveries[next] as Delivery).seq < until) next++
    const isLast = !own.some(({ seq }) => seq > request.seq)
    return match(request, request.stream as Sent, life.deliveries.slice(from, next), isLast)
  })
}

function match(request: Request, sent: Sent, deliveries: Delivery[], isLast: boolean): Connection {
  // A blank line of CR LF is complete with its CR.
  const read = sent.blocks.filter(({ end }) => end <= sent.handed + 1)
  const fates: Fate[] = []
  let reads = 0
  let bytes = sent.reads[0]?.bytes ?? 0
  for (const block of read) {
    while (bytes < block.end && reads + 1 < sent.reads.length) bytes += sent.reads[++reads]?.bytes ?? 0
    fates.push({ block, read: reads, delivery: undefined, certain: false })
  }
  const strangers: Delivery[] = []
  let next = 0
  for (const delivery of deliveries) {
    const at = fates.findIndex(({ block }, index) => index >= next && isOf(delivery, block))
    if (at === -1) {
      strangers.push(delivery)
      continue
    }
    ;(fates[at] as Fate).delivery = delivery
    next = at + 1
  }
  const sure = isLast ? 0 : sent.endRead ? sent.handed : sent.handed - (sent.reads.at(-1)?.bytes ?? 0)
  for (const [index, fate] of fates.entries()) fate.certain = index < next || fate.block.end <= sure
  return { request, sent, fates, strangers, isLast }
}

function isOf({ data, id, type }: Delivery, block: Block): boolean {
  return block.data === data && block.id === id && block.entry?.type === type
}

/** Whether a block that was read and not delivered is one that had data, and so was dropped. */
export function wasDropped({ block, delivery, certain }: Fate): boolean {
  return certain && delivery === undefined && block.data !== undefined
}
