import { isSigned } from './credentials.ts'
import { answerIn, discoverAnew } from './discover-request.ts'
import { type DiscoverResult, discoverResultOf, saysTheSame } from './discover-result.ts'
import { versionIn } from './era.ts'
import type { Message, RequestId } from './messages.ts'
import { DISCOVER, isRead } from './reissue.ts'
import type { McpRequest } from './request.ts'
import { CONNECTION_CLOSED } from './settle.ts'

/** Where results are kept, by the URL of the server. A `Map` will do, and so will anything that does the same later. */
export interface DiscoverStore {
  get(url: string): unknown
  set(url: string, result: DiscoverResult): unknown
  delete(url: string): unknown
}

/** A server is no longer what it had said of itself. */
export interface DiscoverChange {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly url: string
  /** What the client has entered with; `undefined` when the store did not know it. */
  readonly kept: DiscoverResult | undefined
  /** What the server says now; `undefined` when it does not answer the question, being of another revision. */
  readonly fresh: DiscoverResult | undefined
  /** The server does not speak the revision that the client has entered with: the host has to connect anew. */
  readonly reconnect: boolean
}

/** What the discovery of one transport works with. */
export interface DiscoveryParts {
  store: DiscoverStore
  tell: (change: DiscoverChange) => void
  /** Sends a `server/discover`, and asks again when its answer is lost. */
  ask: (request: McpRequest) => Promise<Response>
  timeoutMs: number
}

type Call = Message & { id: RequestId; method: string }

/** What a probe has found. `'nothing'`: the server was not reached, is busy, or wants other credentials. */
type Found = 'nothing' | { fresh: DiscoverResult | undefined; changed: boolean }

/**
 * What a client knows of a server before it has asked (2026-07-28): the `server/discover` by which it connects is
 * answered from the store, and the first request that the server sees is the first call. When a call is then refused as
 * if the server were another one, the server is asked after all, once for all calls that noticed.
 */
export class Discovery {
  readonly #parts: DiscoveryParts
  #isFirst = true
  /** What the client believes of the server. */
  #kept: DiscoverResult | undefined
  /** The server has shown that it speaks this revision. */
  #isConfirmed = false
  /** It has shown that it does not: what it refuses from here on is no news. */
  #isOver = false
  #probes = 0
  #probe: Promise<Found> | undefined
  #lastFound: Found = 'nothing'
  #writes: Promise<unknown> = Promise.resolve()

  constructor(parts: DiscoveryParts) {
    this.#parts = parts
  }

  /** The answer to a call: from the store, or the server's. `undefined`: it was lost before it began. */
  async answer(
    request: McpRequest,
    call: Call,
    send: () => Promise<Response | undefined>,
  ): Promise<Response | undefined> {
    const known = this.#isFirst ? await this.#enter(request, call) : undefined
    if (known !== undefined) return known
    const probes = this.#probes
    const answer = await send()
    if (answer === undefined) return answer
    if (answer.ok) {
      this.#isConfirmed = true
      if (call.method === DISCOVER && isJson(answer))
        this.learn(request, call, (await answerIn(answer.clone(), call.id))?.result)
      return answer
    }
    const sign = call.method === DISCOVER ? undefined : await signOf(answer, call)
    if (sign === undefined || this.#isOver || (sign !== 'version' && this.#isConfirmed)) return answer
    // What is signed for one request would be refused on another.
    if (isSigned(request.headers)) {
      this.#write(() => this.#parts.store.delete(request.url.href))
      return answer
    }
    const found = await this.#foundSince(probes, request, call)
    if (found === 'nothing' || !speaks(found.fresh, call)) return answer
    if (!neverRan(sign, answer.status, call, found.changed)) return answer
    answer.body?.cancel().catch(() => {})
    return send()
  }

  /** What the server says of itself, asked by whomever. Returns whether it is news. */
  learn(request: McpRequest, call: Call, result: unknown): boolean {
    const fresh = discoverResultOf(result)
    if (fresh === undefined) return false
    this.#write(() => this.#parts.store.set(request.url.href, fresh))
    return this.#believe(request, call, fresh)
  }

  /** The first request of a client. One that asks later, or by a number as other calls do, wants to hear the server. */
  async #enter(request: McpRequest, call: Call): Promise<Response | undefined> {
    this.#isFirst = false
    const kept = await this.#read(request)
    const isConnect = call.method === DISCOVER
    if (isConnect && (typeof call.id !== 'string' || !speaks(kept, call))) return undefined
    this.#kept = kept
    if (!isConnect) return undefined
    return Response.json({ jsonrpc: '2.0', id: call.id, result: { ...kept, resultType: 'complete' } })
  }

  /** A call that was sent before the last probe had ended need not ask once more. */
  #foundSince(probes: number, request: McpRequest, call: Call): Promise<Found> | Found {
    if (this.#probe === undefined && probes !== this.#probes) return this.#lastFound
    this.#probe ??= this.#find(request, call).then(found => {
      this.#probe = undefined
      this.#lastFound = found
      return found
    })
    return this.#probe
  }

  async #find(request: McpRequest, call: Call): Promise<Found> {
    const { ask, store, timeoutMs } = this.#parts
    const id = `discover~${++this.#probes}`
    this.#write(() => store.delete(request.url.href))
    try {
      const answer = await ask(discoverAnew(request, call, id, timeoutMs))
      if (!answer.ok && !isAboutTheRequest(answer.status)) return 'nothing'
      const said = await answerIn(answer, id)
      // Our own word for an answer that was lost again and again.
      if (codeOf(said) === CONNECTION_CLOSED && answer.ok) return 'nothing'
      const fresh = discoverResultOf(said?.result)
      const changed =
        fresh === undefined ? this.#believe(request, call, fresh) : this.learn(request, call, fresh)
      return { fresh, changed }
    } catch {
      return 'nothing'
    }
  }

  /** Returns whether it is news, and tells the host if so. */
  #believe(request: McpRequest, call: Call, fresh: DiscoverResult | undefined): boolean {
    const kept = this.#kept
    const reconnect = !speaks(fresh, call)
    const changed = kept === undefined || fresh === undefined || !saysTheSame(kept, fresh)
    // A client that has just connected by asking hears it all from the server itself.
    const isNews = changed && (kept !== undefined || reconnect)
    this.#kept = fresh
    this.#isOver = reconnect
    if (isNews) this.#parts.tell({ at: Date.now(), url: request.url.href, kept, fresh, reconnect })
    return changed
  }

  async #read(request: McpRequest): Promise<DiscoverResult | undefined> {
    try {
      return discoverResultOf(await this.#parts.store.get(request.url.href))
    } catch {
      // The server can be asked.
      return undefined
    }
  }

  /** One after the other, and no call waits for it. What fails is asked for again some day. */
  #write(write: () => unknown): void {
    this.#writes = this.#writes.then(write).catch(() => {})
  }
}

function isJson(answer: Response): boolean {
  return /^application\/json\b/i.test(answer.headers.get('content-type') ?? '')
}

function speaks(result: DiscoverResult | undefined, call: Call): boolean {
  return result?.supportedVersions.includes(versionIn([call]) ?? '') === true
}

const UNSUPPORTED_PROTOCOL_VERSION = -32_022
const METHOD_NOT_FOUND = -32_601

/** How a refusal says that the server may be another one than was kept. */
type Sign =
  /** It does not speak this revision of the protocol. */
  | 'version'
  /** It does not know the method. */
  | 'method'
  /** It has not understood that it was a request of this revision. */
  | 'refused'

async function signOf(answer: Response, call: Call): Promise<Sign | undefined> {
  if (!isAboutTheRequest(answer.status)) return undefined
  const said = await answerIn(answer.clone(), call.id).catch(() => undefined)
  if (said === undefined) return 'refused'
  const code = codeOf(said)
  if (code === UNSUPPORTED_PROTOCOL_VERSION) return 'version'
  // Any other error is what a server of this revision has to say to this call.
  return code === METHOD_NOT_FOUND ? 'method' : undefined
}

/** Of credentials, of load and of proxies: they say nothing about the revision. */
const OTHER_REFUSALS = new Set([401, 402, 403, 407, 408, 409, 413, 421, 425, 429])

function isAboutTheRequest(status: number): boolean {
  return status >= 400 && status < 500 && !OTHER_REFUSALS.has(status)
}

function codeOf(message: Message | undefined): number | undefined {
  return (message?.error as { code?: number } | undefined)?.code
}

/**
 * Whether a call that was refused may be sent again: it has provably not run, and there is reason to hope. A method that
 * is unknown stays so; an unexplained 400 may have come after the work.
 */
function neverRan(sign: Sign, status: number, call: Call, changed: boolean): boolean {
  if (sign === 'version') return true
  return sign === 'refused' && changed && (status === 404 || status === 405 || isRead(call))
}
