import type { Message, RequestId } from './messages.ts'

const SUBSCRIPTION_META_KEY = 'io.modelcontextprotocol/subscriptionId'
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** What a server agreed to tell. */
interface Honoured {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  resourceSubscriptions?: string[]
}

/**
 * A `subscriptions/listen` that is entered again under another id: the host sees one subscription, under the id that it
 * knows, acknowledged once. What changed in between was told to nobody, so the host is told that anything may have.
 */
export class Subscription {
  readonly #id: RequestId
  #acknowledged = false

  constructor(id: RequestId) {
    this.#id = id
  }

  /** What the host is told for a message. */
  told(message: Message): Message[] {
    const meta = message.params?._meta as Record<string, unknown> | undefined
    const own =
      meta?.[SUBSCRIPTION_META_KEY] === undefined
        ? message
        : { ...message, params: { ...message.params, ...this.#stamp(meta) } }
    if (message.method !== ACKNOWLEDGED) return [own]
    if (this.#acknowledged) return this.#changes((message.params?.notifications ?? {}) as Honoured)
    this.#acknowledged = true
    return [own]
  }

  #changes(honoured: Honoured): Message[] {
    const lists = (['tools', 'prompts', 'resources'] as const).filter(list => honoured[`${list}ListChanged`])
    return [
      ...lists.map(list => ({ method: `notifications/${list}/list_changed`, params: this.#stamp({}) })),
      ...(honoured.resourceSubscriptions ?? []).map(uri => ({
        method: 'notifications/resources/updated',
        params: { uri, ...this.#stamp({}) },
      })),
    ]
  }

  #stamp(meta: Record<string, unknown>): { _meta: Record<string, unknown> } {
    return { _meta: { ...meta, [SUBSCRIPTION_META_KEY]: this.#id } }
  }
}
