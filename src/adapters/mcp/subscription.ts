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

const LISTS = ['tools', 'prompts', 'resources'] as const

/**
 * A `subscriptions/listen` that is entered again under another id: the host sees one subscription, under the id that it
 * knows, acknowledged once. What changed in between was told to nobody, so the host is told that anything may have.
 */
export class Subscription {
  /**
   * The server, another version of itself perhaps, no longer tells all that it had agreed to tell. The host holds the
   * first agreement in its hands, so this subscription has to end: it enters another and sees what is left.
   */
  isNarrowed = false
  readonly #id: RequestId
  readonly #onMissed: () => void
  /** What the host knows to be agreed. */
  #agreed: Honoured | undefined

  /** `onMissed`: it was entered again, and nobody knows what was said in between. */
  constructor(id: RequestId, onMissed: () => void) {
    this.#id = id
    this.#onMissed = onMissed
  }

  /** What the host is told for a message. */
  told(message: Message): Message[] {
    const own = this.#underOwnId(message)
    if (message.method !== ACKNOWLEDGED) return [own]
    const honoured = (message.params?.notifications ?? {}) as Honoured
    if (this.#agreed !== undefined) return this.#enteredAgain(this.#agreed, honoured)
    this.#agreed = honoured
    return [own]
  }

  #enteredAgain(agreed: Honoured, honoured: Honoured): Message[] {
    this.#onMissed()
    const missed = LISTS.filter(list => agreed[`${list}ListChanged`])
    const uris = agreed.resourceSubscriptions ?? []
    this.isNarrowed =
      missed.some(list => !honoured[`${list}ListChanged`]) ||
      uris.some(uri => !honoured.resourceSubscriptions?.includes(uri))
    const _meta = { [SUBSCRIPTION_META_KEY]: this.#id }
    return [
      ...missed.map(list => ({ method: `notifications/${list}/list_changed`, params: { _meta } })),
      ...uris.map(uri => ({ method: 'notifications/resources/updated', params: { uri, _meta } })),
    ]
  }

  /** Each notification carries the id of its subscription, and so does the result that ends it. */
  #underOwnId(message: Message): Message {
    const { params, result } = message
    if (isStamped(params)) return { ...message, params: this.#stamped(params) }
    return isStamped(result) ? { ...message, result: this.#stamped(result) } : message
  }

  #stamped<Part extends Stamped>(part: Part): Part {
    return { ...part, _meta: { ...part._meta, [SUBSCRIPTION_META_KEY]: this.#id } }
  }
}

interface Stamped {
  _meta: Record<string, unknown>
}

function isStamped<Part>(part: Part): part is Part & Stamped {
  const meta = (part as Partial<Stamped> | undefined)?._meta
  return typeof meta === 'object' && meta !== null && SUBSCRIPTION_META_KEY in meta
}
