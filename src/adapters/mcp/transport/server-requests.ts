import { idKey, isRequest, type Message, type RequestId } from '../messages.ts'

type Token = string | number

/** Ids and progress tokens, as the host knows them and as the server does. */
interface ServerRequest {
  told: RequestId
  own: RequestId
  toldToken: Token | undefined
  ownToken: Token | undefined
}

/**
 * What the server of one session has asked the host for (sampling, elicitation, roots) and not been answered. Servers
 * count their ids from 0 in each session, so those of later sessions are told under other ids: an answer that comes late
 * must not be taken for that to another session's request.
 */
export class ServerRequests {
  /** By the key of the id that the host knows. */
  readonly #open = new Map<string, ServerRequest>()
  readonly #prefix: string

  /** `session`: its number; ids of the first are left as they are. */
  constructor(session: number) {
    this.#prefix = session === 0 ? '' : `${session}~`
  }

  /** What the host is told for a message of the server's. */
  told(message: Message): Message {
    if (isRequest(message)) {
      const told = this.#renamed(message.id)
      const meta = message.params?._meta as { progressToken?: Token } | undefined
      const ownToken = meta?.progressToken
      const toldToken = ownToken === undefined ? undefined : this.#renamed(ownToken)
      this.#open.set(idKey(told), { told, own: message.id, toldToken, ownToken })
      if (toldToken === undefined) return { ...message, id: told }
      return {
        ...message,
        id: told,
        params: { ...message.params, _meta: { ...meta, progressToken: toldToken } },
      }
    }
    if (message.method !== 'notifications/cancelled') return message
    const told = this.#renamed(message.params?.requestId as RequestId)
    this.#open.delete(idKey(told))
    return { ...message, params: { ...message.params, requestId: told } }
  }

  /** What the server is sent for a message of the host's; `undefined` when it is meant for another session. */
  sent(message: Message): Message | undefined {
    if (message.method === 'notifications/progress') {
      const token = message.params?.progressToken
      const request = [...this.#open.values()].find(({ toldToken }) => toldToken === token)
      return request && { ...message, params: { ...message.params, progressToken: request.ownToken } }
    }
    if (message.method !== undefined) return message
    const request = this.#open.get(idKey(message.id))
    return request && { ...message, id: request.own }
  }

  /** The server has taken an answer. */
  answered({ id }: Message): void {
    for (const [key, { own }] of this.#open) if (own === id) this.#open.delete(key)
  }

  /** The end of the session: the ids that the host knows of what is open. */
  abandon(): RequestId[] {
    const ids = [...this.#open.values()].map(({ told }) => told)
    this.#open.clear()
    return ids
  }

  #renamed<Id extends string | number>(id: Id): Id | string {
    return this.#prefix === '' ? id : `${this.#prefix}${idKey(id)}`
  }
}
