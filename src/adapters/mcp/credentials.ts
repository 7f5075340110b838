import { abortable } from './abortable.ts'

/** Schemes whose value is made for one method, one URL and one use. */
const SIGNED_SCHEME = /^(?:DPoP|Digest|OAuth|Hawk|Signature|AWS4-[\w-]+)\s/i
/** Headers that say the same beside any scheme: DPoP (RFC 9449), and HTTP Message Signatures (RFC 9421). */
const SIGNED_HEADERS = ['dpop', 'signature-input']

/** Whether a request is signed for itself alone: its headers on another one would be a replay. */
export function isSigned(headers: Headers): boolean {
  return (
    SIGNED_SCHEME.test(headers.get('authorization') ?? '') || SIGNED_HEADERS.some(name => headers.has(name))
  )
}

/** What a session is let in with: a token that the SDK fetched for one request serves the others. */
export class Credentials {
  readonly #isSession: boolean
  #newest: string | undefined
  #isNewestSigned = false
  /** The request that brought it, by its place in the order in which they were sent. */
  #newestOrder = 0
  #sent = 0
  #givenUp: string | null = null
  #turn: Promise<void> | undefined
  readonly #wakes = new Set<() => void>()

  constructor(isSession: boolean) {
    this.#isSession = isSession
  }

  /** The `Authorization` that any request may use. Without a session, nobody says that two requests are of one client. */
  get newest(): string | undefined {
    return this.#isSession && !this.#isNewestSigned ? this.#newest : undefined
  }

  /** A request of the SDK's leaves. The returned function tells that the server has let it in. */
  sent(headers: Headers): () => void {
    const order = ++this.#sent
    return () => this.#bring(headers, order)
  }

  /** The SDK has others than those that were refused. */
  renewed(headers: Headers): void {
    this.#bring(headers, ++this.#sent)
  }

  /** The SDK was told that these are refused, and has no others. */
  giveUp(authorization: string | null): void {
    this.#givenUp = authorization
  }

  isGivenUp(authorization: string | null): boolean {
    return this.#isSession && authorization !== null && this.#givenUp === authorization
  }

  /** Calls `wake` when there are others. */
  onOthers(wake: () => void): void {
    this.#wakes.add(wake)
  }

  forget(wake: () => void): void {
    this.#wakes.delete(wake)
  }

  /**
   * One stream at a time tells the SDK of a refusal: each telling makes it fetch a token, and a refresh token that rotates
   * must not be used twice. Resolves to the end of the turn.
   */
  async turn(signal: AbortSignal): Promise<() => void> {
    while (this.#turn !== undefined) await abortable(this.#turn, signal)
    let end = () => {}
    this.#turn = new Promise(resolve => {
      end = () => {
        this.#turn = undefined
        resolve()
      }
    })
    return end
  }

  #bring(headers: Headers, order: number): void {
    const authorization = headers.get('authorization')
    // Refused for one thing, and good for another: the SDK is told again when they are refused next.
    if (authorization === this.#givenUp) this.#givenUp = null
    if (authorization === null || order < this.#newestOrder) return
    this.#newestOrder = order
    if (authorization === this.#newest) return
    this.#newest = authorization
    this.#isNewestSigned = isSigned(headers)
    const wakes = [...this.#wakes]
    this.#wakes.clear()
    for (const wake of wakes) wake()
  }
}

/** More sessions than any wrapper has at a time. */
const MAX_SESSIONS = 100

/** The credentials of each session that a wrapper has seen. */
export class SessionCredentials {
  readonly #sessions = new Map<string, Credentials>()

  of({ href }: URL, session: string | null): Credentials {
    const key = `${href}\n${session ?? ''}`
    const known = this.#sessions.get(key)
    if (known !== undefined) return known
    const oldest = this.#sessions.keys().next()
    if (this.#sessions.size >= MAX_SESSIONS && !oldest.done) this.#sessions.delete(oldest.value)
    const credentials = new Credentials(session !== null)
    this.#sessions.set(key, credentials)
    return credentials
  }
}
