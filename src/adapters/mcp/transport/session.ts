import { idKey, isAnswer, isRequest, type Message, type RequestId } from '../messages.ts'
import { type Known, lostAnswers } from '../settle.ts'
import { ServerRequests } from './server-requests.ts'
import type { SessionOfFetch } from './session-fetch.ts'
import type { SdkTransport, SendOptions, Sent } from './types.ts'
import { Undelivered } from './undelivered.ts'

/** Who a session reports to. */
export interface SessionOwner {
  /** A message for the host. */
  tellMessage(message: Sent, extra?: unknown): void
  tellError(error: Error): void
  /** The SDK's transport has closed by itself. */
  closed(session: Session): void
  /** The server has answered one of the host's requests. */
  answered(session: Session, request: Message, answer: Message): void
  /** Told once. */
  lost(session: Session, status: number | undefined): void
  /** Whether another session could take the place of one. */
  isReplaceable(): boolean
}

/** A request of the host's that the server has not answered. */
interface OpenCall {
  id: RequestId
  request: Message
  /** The server has taken it: its answer is on the way by a stream. */
  isTaken: boolean
}

/**
 * How long calls of a lost session are given: their requests may yet be refused, and then sent again, or answered by a
 * part of the server that still knows the session. Well below the least patience of the watchdog, 30 s.
 */
const LINGER_MS = 5_000

/** One session of the server, which is one transport of the SDK's. */
export class Session implements SessionOfFetch {
  readonly inner: SdkTransport
  readonly isLegacy: boolean
  isLost = false
  isClosed = false
  isTerminated = false
  refusal: Response | Error | undefined
  /** The one that the host has opened itself. */
  readonly isFirst: boolean
  /** Errors of an attempt are the affair of whoever makes it. */
  isQuiet: boolean
  readonly #owner: SessionOwner
  readonly #open = new Map<string, OpenCall>()
  readonly #requests: ServerRequests
  /** Requests of our own, by id. */
  readonly #own = new Map<unknown, { resolve: (answer: Message) => void; reject: (error: unknown) => void }>()
  #ownCount = 0
  #linger: ReturnType<typeof setTimeout> | undefined

  /** `number`: how many there were before. */
  constructor(makeTransport: (session: Session) => SdkTransport, number: number, owner: SessionOwner) {
    this.#owner = owner
    this.isFirst = number === 0
    this.isQuiet = !this.isFirst
    this.#requests = new ServerRequests(number)
    const inner = makeTransport(this)
    this.inner = inner
    // Only Streamable HTTP has sessions that can be ended.
    this.isLegacy = !('terminateSession' in inner)
    inner.onmessage = (message: Sent, extra?: unknown) => this.#receive(message, extra)
    inner.onclose = () => owner.closed(this)
    inner.onerror = error => {
      if (!this.isLost && !this.isQuiet && !(error instanceof Undelivered)) owner.tellError(error)
    }
  }

  /** A stateless server has nothing to lose. */
  get isReplaceable(): boolean {
    const isStateful = this.isLegacy || this.inner.sessionId !== undefined
    return isStateful && !this.isTerminated && this.#owner.isReplaceable()
  }

  start(): Promise<void> {
    return this.inner.start()
  }

  /** @throws Undelivered, and what the SDK's transport throws. */
  async send(sent: Sent, options: SendOptions | undefined): Promise<void> {
    const calls = [sent].flat().filter(isRequest)
    for (const request of calls)
      this.#open.set(idKey(request.id), { id: request.id, request, isTaken: false })
    try {
      await this.inner.send(sent as never, options as never)
      for (const message of [sent].flat()) this.#taken(message)
    } catch (error) {
      const isOver = calls.length > 0 && !calls.some(({ id }) => this.#open.has(idKey(id)))
      for (const { id } of calls) this.#open.delete(idKey(id))
      // The host was told what became of them.
      if (!isOver) throw error
    } finally {
      this.#closeWhenDone()
    }
  }

  /** A request of our own. @throws Undelivered, and what the SDK's transport throws. */
  request(method: string, params: Message['params']): Promise<Message> {
    const id = `resilient-sse-${++this.#ownCount}`
    return new Promise((resolve, reject) => {
      this.#own.set(id, { resolve, reject })
      this.inner.send({ jsonrpc: '2.0', id, method, params } as never).catch(reject)
    })
  }

  /** As the server knows it; `undefined` when it is meant for another session. */
  outbound(message: Message): Message | undefined {
    return this.#requests.sent(message)
  }

  /** The host no longer waits. Returns whether the server has the request. */
  forget(id: RequestId): boolean {
    const isOpen = this.#open.delete(idKey(id))
    this.#closeWhenDone()
    return isOpen
  }

  lost(status?: number, isDeaf = false): void {
    if (this.isLost || !this.isReplaceable) return
    this.isLost = true
    for (const { reject } of this.#own.values()) reject(new Undelivered('session-lost'))
    for (const requestId of this.#requests.abandon()) {
      const params = { requestId, reason: 'The session is lost' }
      this.#owner.tellMessage({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    }
    if (isDeaf) this.#settle(({ isTaken }) => isTaken)
    this.#linger = setTimeout(() => {
      this.#settle(() => true)
      this.close()
    }, LINGER_MS)
    this.#closeWhenDone()
    this.#owner.lost(this, status)
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    clearTimeout(this.#linger)
    this.inner.onclose = undefined
    for (const { reject } of this.#own.values()) reject(new Undelivered('no-answer'))
    this.inner.close().catch(() => {})
  }

  #receive(message: Sent, extra: unknown): void {
    if (Array.isArray(message)) this.#owner.tellMessage(message, extra)
    else if (isAnswer(message)) this.#answered(message, extra)
    // To a request of a lost session nobody could send the answer.
    else if (!this.isLost || !isRequest(message)) this.#owner.tellMessage(this.#requests.told(message), extra)
  }

  #answered(answer: Message, extra: unknown): void {
    const own = this.#own.get(answer.id)
    this.#own.delete(answer.id)
    own?.resolve(answer)
    if (own !== undefined) return
    const call = this.#open.get(idKey(answer.id))
    this.#open.delete(idKey(answer.id))
    if (call !== undefined) this.#owner.answered(this, call.request, answer)
    // A call that was settled has had its answer.
    if (call !== undefined || !this.isLost) this.#owner.tellMessage(answer, extra)
    this.#closeWhenDone()
  }

  #taken(message: Message): void {
    if (isAnswer(message)) this.#requests.answered(message)
    const call = this.#open.get(idKey(message.id))
    if (call !== undefined && isRequest(message)) call.isTaken = true
  }

  #settle(isOver: (call: OpenCall) => boolean): void {
    const over = [...this.#open.values()].filter(isOver)
    for (const { id } of over) this.#open.delete(idKey(id))
    const known: Known = { reason: 'session-lost', attempts: 0, error: undefined }
    for (const answer of lostAnswers(
      over.map(({ id }) => id),
      known,
    ))
      this.#owner.tellMessage(answer)
  }

  #closeWhenDone(): void {
    // Not from within the fetch that has just found out.
    if (this.isLost && this.#open.size === 0) queueMicrotask(() => this.close())
  }
}
