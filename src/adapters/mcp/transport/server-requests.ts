import { idKey, isRequest, type Message, type RequestId } from '../messages.ts'

type Token = string | number

/**
 * What the server of one session has asked the host for (sampling, elicitation, roots) and not been answered. Servers
 * count their ids from 0 in each session, so those of later sessions are told under other ids: an answer that comes late
 * must not be taken for that to another session's request.
 */
export class ServerRequests {
  /** By the key of the id that the host knows: that of the server. */
  readonly #open = new Map<string, { told: RequestId; own: RequestId }>()
  readonly #tokens = new Map<string, Token>()
  readonly #prefix: string

  /** `session`: its number; ids of the first are left as they are. */
  constructor(session: number) {
    this.#prefix = session === 0 ? '' : `${session}~`
  }

  /** What the host is told for a message of the server's. */
  told(message: Message): Message {
    if (isRequest(message)) {
      const told = this.#renamed(message.id)
      this.#open.set(idKey(told), { told, own: message.id })
      return { ...message, id: told, ...this.#withToken(message) }
    }
    if (message.method !== 'notifications/cancelled') return message
    const told = this.#renamed(message.params?.requestId as RequestId)
    this.#open.delete(idKey(told))
    return { ...message, params: { ...message.params, requestId: told } }
  }

  /** What the server is sent for a message of the host's; `undefined` when it is meant for another session. */
  sent(message: Message): Message | undefined {
    if (message.method === 'notifications/progress') {
      const progressToken = this.#tokens.get(idKey(message.params?.progressToken))
      return progressToken === undefined
        ? undefined
        : { ...message, params: { ...message.params, progressToken } }
    }
    if (message.method !== undefined) return message
    const open = this.#open.get(idKey(message.id))
    this.#open.delete(idKey(message.id))
    return open && { ...message, id: open.own }
  }

  /** The end of the session: the ids that the host knows of what is open. */
  abandon(): RequestId[] {
    const ids = [...this.#open.values()].map(({ told }) => told)
    this.#open.clear()
    this.#tokens.clear()
    return ids
  }

  #withToken({ params }: Message): Pick<Message, 'params'> {
    const meta = params?._meta as { progressToken?: Token } | undefined
    const own = meta?.progressToken
    if (own === undefined) return {}
    const progressToken = this.#renamed(own)
    this.#tokens.set(idKey(progressToken), own)
    return { params: { ...params, _meta: { ...meta, progressToken } } }
  }

  #renamed<Id extends string | number>(id: Id): Id | string {
    return this.#prefix === '' ? id : `${this.#prefix}${idKey(id)}`
  }
}
