import { SseError } from '../../../index.ts'
import type { Message, RequestId } from '../messages.ts'
import type { TransportSettings } from './options.ts'
import {
  changed,
  changesMissed,
  type InitializeResult,
  offers,
  Remembered,
  type Replay,
} from './remembered.ts'
import { Session, type SessionOwner } from './session.ts'
import { Succession } from './succession.ts'
import type { SdkTransport, Sent } from './types.ts'
import { Undelivered } from './undelivered.ts'

/** Who the sessions work for. */
export interface Host {
  tellMessage(message: Sent, extra?: unknown): void
  tellError(error: Error): void
  close(): Promise<void>
}

/** The sessions of one transport, one after the other: the host knows of one. */
export class Sessions implements SessionOwner {
  readonly remembered = new Remembered()
  /** The server has answered once: what fails from here on is not a mistake in an address. */
  isEstablished = false
  /** The one that was made last, whatever became of it. */
  latest: Session
  #current: Session | undefined
  #next = deferred<Session>()
  #succession: Succession | undefined
  #count = 0
  #all: Session[] = []
  #isClosed = false
  /** What the SDK has thrown for want of credentials: the host has to see it. */
  #unauthorized: unknown
  readonly #url: URL
  readonly #settings: TransportSettings
  readonly #makeTransport: (session: Session) => SdkTransport
  readonly #host: Host

  constructor(
    url: URL,
    settings: TransportSettings,
    makeTransport: (session: Session) => SdkTransport,
    host: Host,
  ) {
    this.#url = url
    this.#settings = settings
    this.#makeTransport = makeTransport
    this.#host = host
    this.latest = this.#make()
    this.#current = this.latest
    this.#next.resolve(this.latest)
  }

  /** The session of the moment, or the next one. @throws Undelivered when there is none to be had; the SDK's own error for want of credentials. */
  ready(): Promise<Session> {
    if (this.#current === undefined && this.#succession === undefined && !this.#isClosed) this.#renew()
    return this.#next.promise
  }

  /** The host no longer waits for a call. Returns whether the present session has it. */
  forget(id: RequestId): boolean {
    const isWithServer = this.#current?.forget(id) === true
    for (const session of this.#all) session.forget(id)
    return isWithServer
  }

  close(): void {
    this.#isClosed = true
    this.#succession?.close()
    for (const session of this.#all) session.close()
    if (this.#current === undefined)
      this.#next.reject(new SseError('ERR_SSE_CLOSED', 'The transport is closed'))
  }

  tellMessage(message: Sent, extra?: unknown): void {
    if (!this.#isClosed) this.#host.tellMessage(message, extra)
  }

  tellError(error: Error): void {
    this.#host.tellError(error)
  }

  closed(session: Session): void {
    if (session === this.#current) void this.#host.close()
  }

  answered(session: Session, request: Message, answer: Message): void {
    if (answer.result === undefined) return
    this.isEstablished = true
    this.remembered.learn(request, answer)
    if (session === this.#current) this.#succession?.proved()
  }

  isReplaceable(): boolean {
    return !this.#isClosed && this.remembered.server !== undefined
  }

  lost(session: Session, status: number | undefined): void {
    // One that is being opened: the attempt fails by itself.
    if (session !== this.#current) return
    this.#settings.tell('lost', { sessionId: session.inner.sessionId, status })
    this.#current = undefined
    this.#next = deferred()
    if (this.#succession === undefined) this.#renew()
    else this.#succession.lost()
  }

  #make(): Session {
    const session = new Session(this.#makeTransport, this.#count++, this)
    this.#all = [...this.#all.filter(({ isClosed }) => !isClosed), session]
    return session
  }

  #renew(): void {
    if (this.#next.isSettled) this.#next = deferred()
    const open = (signal: AbortSignal) => this.#open(signal)
    this.#succession = new Succession(this.#url, this.#settings.settings, open, error => this.#giveUp(error))
  }

  #giveUp(error: SseError): void {
    this.#succession = undefined
    if (this.#isClosed) return
    this.#settings.tell('failed', { error: this.#unauthorized ?? error })
    this.#next.reject(this.#unauthorized ?? new Undelivered('session-lost', error))
  }

  /** Opens a session like the one before. Returns the answer by which the server refuses. */
  async #open(signal: AbortSignal): Promise<Response | undefined> {
    const session = this.#make()
    const abandon = () => session.close()
    signal.addEventListener('abort', abandon, { once: true })
    this.latest = session
    this.#unauthorized = undefined
    try {
      await session.start()
      const result = await this.#initialize(session)
      const notReplayed = await this.#replay(session, result)
      signal.throwIfAborted()
      if (session.isLost) throw new Undelivered('session-lost')
      this.#enter(session, result, notReplayed)
      return undefined
    } catch (error) {
      session.close()
      const { refusal } = session
      if (error instanceof SseError || (error instanceof Undelivered && error.why === 'session-lost'))
        throw error
      if (!(refusal instanceof Response)) throw refusal ?? error
      if (refusal.status === 401 || refusal.status === 403) this.#unauthorized = error
      if (refusal.status >= 400) return refusal
      throw error
    } finally {
      signal.removeEventListener('abort', abandon)
    }
  }

  async #initialize(session: Session): Promise<InitializeResult> {
    const answer = await session.request('initialize', this.remembered.initialize?.params)
    if (answer.error !== undefined) {
      const { code, message } = answer.error as { code: number; message: string }
      throw new SseError('ERR_SSE_REQUEST', `The server refused to initialize: ${message} (${code})`)
    }
    const result = answer.result as InitializeResult
    if (!this.remembered.speaks(result.protocolVersion))
      throw new SseError(
        'ERR_SSE_REQUEST',
        `The server speaks MCP ${result.protocolVersion} now, which the host does not`,
      )
    session.inner.setProtocolVersion?.(result.protocolVersion)
    await session.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, undefined)
    return result
  }

  /** Returns the methods of what this server does not do. */
  async #replay(session: Session, result: InitializeResult): Promise<string[]> {
    const replay = async (request: Replay) => {
      if (!offers(result, request)) return request.method
      const answer = await session.request(request.method, request.params)
      return answer.error === undefined ? [] : request.method
    }
    return [...new Set((await Promise.all(this.remembered.replays.map(replay))).flat())]
  }

  #enter(session: Session, result: InitializeResult, notReplayed: string[]): void {
    const { remembered } = this
    const previous = remembered.server as InitializeResult
    remembered.server = result
    session.isQuiet = false
    this.#current = session
    const sessionId = session.inner.sessionId
    const differs = changed(previous, result)
    this.#settings.tell('initialized', { sessionId, result, previous, changed: differs, notReplayed })
    for (const message of changesMissed(previous, result, remembered.replays)) this.tellMessage(message)
    this.#next.resolve(session)
  }
}

interface Deferred<T> {
  promise: Promise<T>
  isSettled: boolean
  resolve(value: T): void
  reject(error: unknown): void
}

function deferred<T>(): Deferred<T> {
  const made = { isSettled: false } as Deferred<T>
  made.promise = new Promise<T>((resolve, reject) => {
    made.resolve = value => {
      made.isSettled = true
      resolve(value)
    }
    made.reject = error => {
      made.isSettled = true
      reject(error)
    }
  })
  // Not everybody waits.
  made.promise.catch(() => {})
  return made
}
