import { isAnswer, type Message } from '../messages.ts'

/** What a server says of itself: the result of `initialize`. */
export interface InitializeResult {
  protocolVersion: string
  capabilities: Record<string, { listChanged?: boolean; subscribe?: boolean } | undefined>
  serverInfo: { name: string; version: string }
  instructions?: string | undefined
}

/** Requests whose effect ends with their session, and which the host does not know to repeat. */
export interface Replay {
  method: string
  params: Record<string, unknown>
}

/** What a new session needs to be like the old one. */
export class Remembered {
  /** The host's `initialize`. */
  initialize: Message | undefined
  /** What the server of the latest session answered. */
  server: InitializeResult | undefined
  /** The versions that the host's SDK speaks, when it tells. */
  versions: readonly string[] | undefined
  #level: Replay | undefined
  readonly #subscriptions = new Map<unknown, Replay>()

  /** Only what the server has agreed to is remembered. */
  learn({ method, params = {} }: Message, answer: Message): void {
    if (!isAnswer(answer) || answer.result === undefined) return
    if (method === 'initialize') this.server = answer.result as InitializeResult
    if (method === 'logging/setLevel') this.#level = { method, params }
    if (method === 'resources/subscribe') this.#subscriptions.set(params.uri, { method, params })
    if (method === 'resources/unsubscribe') this.#subscriptions.delete(params.uri)
  }

  get replays(): Replay[] {
    return [...(this.#level ? [this.#level] : []), ...this.#subscriptions.values()]
  }

  /**
   * Whether the host can go on in a version that a server has chosen. The SDKs speak each version up to the one that they
   * offer; what is newer they have never heard of.
   */
  speaks(version: string): boolean {
    const offered = this.initialize?.params?.protocolVersion
    return this.versions?.includes(version) ?? (typeof offered === 'string' && version <= offered)
  }
}

/** Whether a server with these capabilities can be asked that. */
export function offers({ capabilities }: InitializeResult, { method }: Replay): boolean {
  return method === 'logging/setLevel'
    ? capabilities.logging !== undefined
    : capabilities.resources?.subscribe === true
}

const FACTS = ['protocolVersion', 'capabilities', 'serverInfo', 'instructions'] as const

/** What a server says of itself that the one before had said otherwise. */
export function changed(before: InitializeResult, after: InitializeResult): (typeof FACTS)[number][] {
  return FACTS.filter(fact => JSON.stringify(sorted(before[fact])) !== JSON.stringify(sorted(after[fact])))
}

/** The order of keys means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => [key, sorted(member)])
}

/**
 * What happened while there was no session, nobody was told: the host hears that each list may have changed that either
 * server would have told of, and each resource that it is subscribed to.
 */
export function changesMissed(
  before: InitializeResult,
  after: InitializeResult,
  replayed: readonly Replay[],
): Message[] {
  const lists = ['tools', 'prompts', 'resources'].filter(
    list => before.capabilities[list]?.listChanged || after.capabilities[list]?.listChanged,
  )
  return [
    ...lists.map(list => ({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` })),
    ...replayed
      .filter(({ method }) => method === 'resources/subscribe')
      .map(({ params }) => ({
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: params.uri },
      })),
  ]
}
