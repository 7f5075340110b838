import { SseHttpError } from '../../index.ts'
import { abortable } from './abortable.ts'
import { type SurvivingBody, survivingResponse } from './body.ts'
import { type Credentials, isSigned } from './credentials.ts'
import { primingBlock } from './frames.ts'
import { type HandedOver, type Handovers, NOTHING_LEFT, notOffered } from './handover.ts'
import type { McpRequest } from './request.ts'
import { resumeHeaders } from './resume-request.ts'

/** An answer that asks for other credentials. */
interface Refusal {
  error: SseHttpError
  /** What was refused. */
  authorization: string | null
  kind: keyof typeof TELLINGS
  /** The SDK was told, and has nothing better. */
  final: boolean
}

/** How often the SDK is told of each kind until a leg opens; a new token may need a nonce of its own. */
const TELLINGS = { nonce: 2, 401: 1, 403: 1 }

export interface RenewalParts {
  session: string | null
  handovers: Handovers
  credentials: Credentials
  body: SurvivingBody
  /** Where the stream is to go on. */
  cursor: () => string | undefined
  /** Dials at once. Given by streams that outlive credentials which nobody can replace. */
  wake?: () => void
}

/**
 * Where the next leg of a stream has its credentials from. The session's newest are taken, as long as they are good for
 * any request. Of a refusal the SDK is told, in answer to a resume of its own, and it comes again with others. Where each
 * request is signed for itself (DPoP), the SDK is asked to come for every leg.
 */
export class Renewal implements HandedOver {
  readonly #parts: RenewalParts
  /** Of the next leg. */
  #headers: Headers
  /** They were not used yet: the first leg is there, or the SDK has just brought them. */
  #areFresh: boolean
  #refusal: Refusal | undefined
  #told = { nonce: 0, 401: 0, 403: 0 }
  /** Where the SDK was told to come. */
  #askedAt: string | undefined
  /** Whether the SDK is still to come. */
  isAsked = false
  #settled = () => {}

  /** `first`: the answer to the request that had these headers. */
  constructor(headers: Headers, first: Response | undefined, parts: RenewalParts) {
    this.#headers = headers
    this.#areFresh = first !== undefined
    this.#parts = parts
  }

  /** The headers of the next leg, once there are some. @throws SseHttpError the refusal, when nobody has better ones. */
  async headers(signal: AbortSignal): Promise<Headers> {
    const { credentials, wake } = this.#parts
    for (;;) {
      if (!this.#mustAsk()) return this.#usable()
      const refusal = this.#refusal
      if (refusal === undefined || refusal.kind === 'nonce') {
        await this.#ask(signal)
        continue
      }
      if (this.#isGivenUp(refusal)) {
        if (wake !== undefined) credentials.onOthers(this.#wake)
        throw refusal.error
      }
      const end = await credentials.turn(signal)
      try {
        if (this.#mustAsk() && !this.#isGivenUp(refusal)) await this.#ask(signal)
      } finally {
        end()
      }
    }
  }

  /** Looks at the answer to a leg. */
  judged(answer: Response, url: URL): Response {
    const { status, headers } = answer
    if (status !== 401 && status !== 403) return answer
    const isNonce = status === 401 && /use_dpop_nonce/i.test(headers.get('www-authenticate') ?? '')
    const kind = isNonce ? 'nonce' : status
    const at = url.origin + url.pathname
    const error = new SseHttpError('ERR_SSE_HTTP', `${at} answered ${status}`, { status, url: at, headers })
    const authorization = this.#headers.get('authorization')
    this.#refusal = { error, authorization, kind, final: false }
    if (this.#told[kind] >= TELLINGS[kind]) this.#giveUp(this.#refusal)
    return answer
  }

  /** Whether a refused stream may have another leg. */
  get mayGoOn(): boolean {
    return this.#parts.wake !== undefined || !this.#refusal || !this.#isGivenUp(this.#refusal)
  }

  /** A leg has opened. */
  accepted(): void {
    this.#refusal = undefined
    this.#told = { nonce: 0, 401: 0, 403: 0 }
  }

  /** The stream is over. */
  ended(): void {
    const { session, handovers, credentials } = this.#parts
    credentials.forget(this.#wake)
    // Line 1 of the SDK asks on after an answer that is an error.
    if (this.#askedAt !== undefined && !this.isAsked) handovers.expect(session, this.#askedAt, NOTHING_LEFT)
  }

  comesBack(request: McpRequest): Response {
    const { session, handovers, credentials, body } = this.#parts
    if (!this.isAsked || body.isSilent) return notOffered()
    const refusal = this.#refusal
    const headers = resumeHeaders(request, new Response(), [])
    // The SDK does not know it yet when it resumes its first request.
    const version = this.#headers.get('mcp-protocol-version')
    if (version !== null) headers.set('mcp-protocol-version', version)
    if (refusal === undefined || this.#isBetter(headers, refusal)) {
      this.#refusal = undefined
      this.#headers = headers
      this.#areFresh = true
      credentials.renewed(headers)
    } else if (this.#told[refusal.kind]++ < TELLINGS[refusal.kind]) {
      handovers.expect(session, this.#askedAt ?? '', this)
      // The signature after that is another one, with the same token.
      if (refusal.kind === 'nonce') this.#refusal = undefined
      else handovers.expectWithoutCursor(session, this)
      const { status, headers } = refusal.error
      return new Response(null, { status, headers })
    } else this.#giveUp(refusal)
    this.isAsked = false
    this.#settled()
    return survivingResponse(undefined, body.stream)
  }

  readonly #wake = (): void => {
    this.accepted()
    this.#parts.wake?.()
  }

  /** Lets the SDK come for the stream, and waits until it has come with something to go on with, or with nothing. */
  #ask(signal: AbortSignal): Promise<void> {
    const { session, handovers, body } = this.#parts
    if (!this.isAsked) {
      this.isAsked = true
      const cursor = this.#parts.cursor() ?? ''
      this.#askedAt = cursor
      handovers.expect(session, cursor, this)
      const priming = cursor === '' ? '' : primingBlock(cursor)
      // Layer 4 has waited already.
      body.handOver(`retry: 0\n${priming || '\n'}`, priming)
    }
    return abortable(new Promise(resolve => (this.#settled = resolve)), signal)
  }

  #mustAsk(): boolean {
    if (this.#areFresh) return false
    if (isSigned(this.#headers)) return true
    const { newest } = this.#parts.credentials
    return this.#refusal !== undefined && (newest === undefined || newest === this.#refusal.authorization)
  }

  #usable(): Headers {
    const { newest } = this.#parts.credentials
    if (!this.#areFresh && newest !== undefined) this.#headers.set('authorization', newest)
    this.#areFresh = false
    this.#refusal = undefined
    return this.#headers
  }

  /** Whether they may be let in where others were refused: another token, or, once the SDK knows, another key of some kind. */
  #isBetter(headers: Headers, { authorization, kind }: Refusal): boolean {
    const brought = headers.get('authorization')
    if (brought !== authorization) return brought !== null
    if (isSigned(headers) || this.#told[kind] === 0) return false
    return [...headers].some(([name, value]) => this.#headers.get(name) !== value)
  }

  #giveUp(refusal: Refusal): void {
    refusal.final = true
    this.#parts.credentials.giveUp(refusal.authorization)
  }

  #isGivenUp({ final, authorization }: Refusal): boolean {
    return final || this.#parts.credentials.isGivenUp(authorization)
  }
}
