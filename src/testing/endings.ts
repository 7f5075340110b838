import { Buffer } from 'node:buffer'
import type { Connection } from './connection.js'
import { delivered } from './delivery.js'
import { encodeEvent } from './log.js'
import type { Reply } from './reply.js'
import type { EndStep } from './steps.js'

interface Scene {
  connection: Connection
  reply: Reply
  /** Does what the script wants between this connection and the next one. */
  settle: () => void
  /** Notes that the fault strikes now. */
  strike: () => void
}

/** Plays the last word of a connection; true when its socket may carry another request. */
export async function playEnd(step: EndStep, { connection, reply, settle, strike }: Scene): Promise<boolean> {
  const finish = () => {
    strike()
    settle()
    connection.finish()
    return false
  }
  const reset = async (flushed: boolean) => {
    if (flushed && reply.record.bytesWritten > 0) await delivered(connection)
    strike()
    settle()
    connection.reset()
    return false
  }
  const answer = async (
    status: number,
    own: Record<string, string | readonly string[] | null>,
    body = '',
    reason?: string,
  ) => {
    strike()
    settle()
    const bytes = Buffer.from(body)
    const defaults: Record<string, string> = { Connection: reply.keepAlive ? 'keep-alive' : 'close' }
    const bodiless = status === 204 || status === 304
    if (!bodiless) defaults['Content-Length'] = String(bytes.length)
    if (bytes.length > 0)
      defaults['Content-Type'] = `${body.startsWith('<') ? 'text/html' : 'text/plain'}; charset=utf-8`
    await reply.head(status, reason, defaults, own)
    if (!bodiless && reply.record.method !== 'HEAD') await connection.write(bytes)
    if (!reply.keepAlive) connection.finish()
    return reply.keepAlive
  }

  switch (step.do) {
    case 'end': {
      await reply.open()
      strike()
      settle()
      if (await reply.complete()) return true
      connection.finish()
      return false
    }
    case 'cut':
      reply.quiet()
      await connection.flush()
      return finish()
    case 'reset':
      reply.quiet()
      return reset(step.flushed)
    case 'cutInside':
      await reply.open()
      await reply.body(partOfNext(reply, step.where), true)
      reply.quiet()
      await connection.flush()
      return step.by === 'rst' ? reset(true) : finish()
    case 'silence':
    case 'headersOnly':
      await reply.open()
      reply.quiet()
      strike()
      return connection.forever()
    case 'noHeaders':
      strike()
      return connection.forever()
    case 'stay':
      await reply.open()
      // A client that was not sent everything stays where it is: that is what the script says.
      if (reply.live || reply.position >= reply.ledger.log.length) await reply.follow()
      return connection.forever()
    case 'garbage':
      await connection.write(Buffer.from('\x16\x03\x01 this is not HTTP\r\n\r\n'))
      await connection.flush()
      return finish()
    case 'answer':
      return answer(step.status, step.headers ?? {}, step.body, step.reason)
    case 'redirect': {
      const location = step.location === '@self' ? reply.record.url : step.location
      return answer(step.status, location === undefined ? {} : { Location: location })
    }
  }
}

/** The first part of the next event, up to where the script wants the cut. */
function partOfNext(reply: Reply, where: 'event' | 'character' | 'crlf'): Buffer {
  const ending = where === 'crlf' ? '\r\n' : reply.lineEnding
  const bytes =
    reply.encodeNext(ending) ?? encodeEvent({ data: 'an event that was never finished: 豆腐' }, ending)
  const isContinuation = (at: number) => ((bytes[at] ?? 0) & 0xc0) === 0x80
  switch (where) {
    case 'event': {
      // Inside the data, so that a client that delivers unfinished events gives itself away.
      const from = bytes.indexOf('data: ') + 'data: '.length
      let at = from + Math.ceil((bytes.length - from) / 2) - ending.length
      while (isContinuation(at)) at--
      return bytes.subarray(0, at)
    }
    case 'character': {
      const from = Math.max(0, bytes.indexOf('data: '))
      for (let at = from; at < bytes.length; at++) if (isContinuation(at)) return bytes.subarray(0, at)
      // No such character in this event: one is made up, which nobody will ever see complete.
      return Buffer.concat([bytes.subarray(0, from + 'data: '.length), Buffer.from('豆').subarray(0, 1)])
    }
    case 'crlf':
      // Not the blank line's own CR: that one already ends the event for a parser that takes CR for a line's end.
      return bytes.subarray(0, bytes.length - ending.length - 1)
  }
}
