import type { Block, Delivery, Life, Request, Sent } from '../history.ts'
import type { Case, Report } from '../oracle.ts'

/** A connection as both sides saw it. */
export interface Connection {
  request: Request
  sent: Sent
  deliveries: Delivery[]
}

/** The connections of a life; an event belongs to the last one that was opened before it was handed out. */
export function connectionsOf(one: Case, life: Life): Connection[] {
  const connections: Connection[] = []
  for (const request of one.history.requests) {
    const { stream: sent, answered } = request
    if (request.life === life.nr && sent !== undefined && answered !== undefined)
      connections.push({ request, sent, deliveries: [] })
  }
  for (const delivery of life.deliveries) {
    const own = connections.findLast(({ request }) => (request.answered?.seq ?? 0) < delivery.seq)
    own?.deliveries.push(delivery)
  }
  return connections
}

export function lawOfDelivery(one: Case, report: Report): void {
  for (const life of one.history.lives) {
    for (const connection of connectionsOf(one, life)) {
      matchInOrder(connection, text =>
        report('as it was sent', `life ${life.nr}, request ${connection.request.nr}: ${text}`),
      )
    }
  }
}

/** The blocks that were delivered, in the order in which the connection carried them. */
function matchInOrder({ sent, deliveries }: Connection, report: (text: string) => void): Block[] {
  const matched: Block[] = []
  let next = 0
  for (const { data, id, type } of deliveries) {
    const at = sent.blocks.findIndex(
      (block, index) =>
        index >= next &&
        block.data === data &&
        block.id === id &&
        block.entry?.type === type &&
        block.end <= sent.handed + 1,
    )
    if (at === -1) {
      report(`delivered ${JSON.stringify({ id, type, data })}, which it did not send whole, or out of order`)
      continue
    }
    matched.push(sent.blocks[at] as Block)
    next = at + 1
  }
  return matched
}
