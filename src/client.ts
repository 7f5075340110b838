import { publish } from './channels.ts'
import { Connection, rotated } from './connection.ts'
import { Delivery } from './delivery.ts'
import { SseError } from './errors.ts'
import type { Batch } from './event.ts'
import { Failure } from './failure.ts'
import type { Dialled } from './hop.ts'
import { Intake } from './intake.ts'
import { Rhythm } from './layers/heartbeat.ts'
import { Lifecycle, type StreamState } from './lifecycle.ts'
import { machine } from './machine.ts'
import type { ResolvedOptions } from './options.ts'
import { dropReason } from './outcome.ts'
import { Pause } from './pause.ts'
import { race } from './race.ts'
import { ENDED, notResent, Recovery } from './recovery.ts'
import { dial } from './request.ts'
import { retry } from './retry.ts'
import { countLifecycle, createStats, report, type SseStats } from './stats.ts'
import { Saver } from './stores/saver.ts'
import { createTransport, type Transport } from './transport.ts'

/** Why a life was ended, unless the user's signal has a reason of its own. */
const OVER = new SseError('ERR_SSE_CLOSED', 'The stream is over')

/** The life of a stream: dial → read → resume → dedupe → deliver, again and again until it ends. */
export class Client {
  state: StreamState = 'idle'
  readonly delivery: Delivery
  readonly #options: ResolvedOptions
  readonly #transport: Transport
  readonly #stats = createStats()
  readonly #lifecycle: Lifecycle
  readonly #life = new AbortController()
  readonly #pause = new Pause(this.#life.signal)
  readonly #recovery: Recovery
  readonly #rhythm = new Rhythm()
  readonly #intake: Intake
  readonly #saver: Saver | undefined
  #connection: Connection | undefined
  /** How the last connection was lost, until the outage that it began takes it up. */
  #loss: Failure | undefined
  /** Dials of this outage. */
  #dials = 0
  #ending: Promise<void> = Promise.resolve()
  /** Whether the consumer was thrown how it ended: once, then the iterator is done. */
  #endTold = false
  readonly #atEnd: (() => void)[] = []

  /** `owner`: the object that the user knows as the stream. */
  constructor(options: ResolvedOptions, owner: object) {
    const { resume } = options
    this.#options = options
    this.#transport = createTransport(options.tcp, options.dispatcher, options.fetch)
    this.#lifecycle = new Lifecycle(options.onLifecycle, event => {
      countLifecycle(this.#stats, event)
      publish(owner, event)
    })
    this.#recovery = new Recovery(options, this.#lifecycle, this.#pause)
    this.#intake = new Intake(options, this.#lifecycle)
    if (resume && resume.store !== undefined) {
      this.#saver = new Saver(resume.store, (id, error) => this.#lifecycle.tell('cursor', { id, error }))
    }
    this.delivery = new Delivery(
      {
        pull: everyRead => this.#pull(everyRead),
        handled: id => this.#saver?.save(id),
        close: () => this.end('closed', undefined),
        isOver: () => this.state === 'closed',
      },
      resume && (this.#saver !== undefined || resume.ack === 'manual') ? resume.ack : false,
    )
    if (resume && resume.lastEventId !== undefined) this.#seed(resume.lastEventId)
  }

  /** The next batch that holds events, or the next at all. The socket is read only from here, so back-pressure reaches the server. */
  async #pull(everyRead: boolean): Promise<Batch | undefined> {
    try {
      if (this.state === 'idle') await this.#begin()
      for (;;) {
        this.#life.signal.throwIfAborted()
        this.#intake.throwGap()
        this.#connection ??= await this.#connect()
        if (this.#connection === undefined) break
        const batch = await this.#receive(this.#connection)
        if (batch !== undefined && (everyRead || batch.events.length > 0)) return batch
      }
    } catch (error) {
      if (error !== ENDED) return this.#endWith(error)
    }
    this.#endTold = true
    await this.end('end', undefined)
    return undefined
  }

  async #begin(): Promise<void> {
    const { signal } = this.#options
    if (signal !== undefined) {
      const onAbort = () => void this.end('aborted', signal.reason)
      machine.allowListeners(signal)
      signal.addEventListener('abort', onAbort)
      this.#atEnd.push(() => signal.removeEventListener('abort', onAbort))
      if (signal.aborted) onAbort()
    }
    this.#life.signal.throwIfAborted()
    this.state = 'connecting'
    this.#atEnd.push(this.#recovery.begin())
    const stored = await race(this.#life.signal, async () => this.#saver?.load())
    if (stored !== undefined) this.#seed(stored)
  }

  /** Where to start; what was stored wins over the option, because it comes last. */
  #seed(id: string): void {
    this.#intake.seed(id)
    this.delivery.seed(id)
  }

  /** One outage, from the loss of a connection (or the beginning) to the next one. `undefined`: the server said 204. */
  #connect(): Promise<Connection | undefined> {
    this.#dials = 0
    return retry(
      () => this.#attempt(),
      async error => {
        this.#life.signal.throwIfAborted()
        if (!(error instanceof Failure)) throw error
        this.state = 'waiting'
        await this.#recovery.afterFailure(error, this.#intake.cursor.received)
      },
    )
  }

  async #attempt(): Promise<Connection | undefined> {
    // A loss is the first failure of its outage: judged, counted and waited for like a dial that failed.
    const loss = this.#loss
    this.#loss = undefined
    if (loss !== undefined) throw loss
    await this.#recovery.admission(this.#intake.cursor.received)
    this.#life.signal.throwIfAborted()
    this.state = 'connecting'
    return this.#dial(++this.#dials)
  }

  async #dial(attempt: number): Promise<Connection | undefined> {
    const startedAt = performance.now()
    const lastEventId = this.#options.resume ? this.#intake.cursor.sendable : undefined
    let dialled: Dialled | undefined
    try {
      dialled = await dial(this.#options, this.#transport, {
        attempt,
        lastEventId,
        signal: this.#life.signal,
        everOpened: this.#recovery.everOpened,
        openTimeoutMs: this.#recovery.openTimeoutMs,
        onDial: url => this.#lifecycle.tell('dial', { url, attempt, lastEventId }),
      })
    } catch (failure) {
      this.#life.signal.throwIfAborted()
      this.#tellDrop((failure as Failure).error, undefined)
      throw failure
    }
    return dialled && this.#open(dialled, startedAt, lastEventId)
  }

  #open(
    { response, body, url, abort, cleanEnd }: Dialled,
    startedAt: number,
    lastEventId: string | undefined,
  ): Connection {
    const { maxEventChars, maxConnectionMs, heartbeat } = this.#options
    if (this.#life.signal.aborted) {
      // Closed in the very moment in which the response came.
      abort.abort()
      throw this.#life.signal.reason
    }
    const connection = new Connection(body, abort, {
      cleanEnd,
      maxEventChars,
      // Streams that were opened together must not all rotate together.
      rotateAfterMs: maxConnectionMs && maxConnectionMs * (1 - 0.1 * Math.random()),
      onCommentParsed: () => this.#heard(),
      onComment: this.#options.onComment,
      onRetry: ms => this.#recovery.serverAsked(ms),
      onRead: this.#options.onRead,
    })
    // Known from here on, so that a listener which closes the stream reaches it.
    this.#connection = connection
    this.#rhythm.interrupt()
    if (heartbeat) connection.guard(heartbeat, this.#rhythm, this.#lifecycle)
    this.state = 'open'
    this.#recovery.opened()
    const { status, headers } = response
    const tookMs = Math.round(connection.openedAt - startedAt)
    this.#lifecycle.tell('open', { url, status, headers, tookMs, resumed: lastEventId !== undefined })
    this.#intake.connected(lastEventId)
    return connection
  }

  /** One network read: what is new in it. `undefined`: the connection is lost. */
  async #receive(connection: Connection): Promise<Batch | undefined> {
    let batch: Batch
    try {
      batch = await connection.read()
    } catch (error) {
      this.#life.signal.throwIfAborted()
      this.#lose(connection, error as SseError)
      return undefined
    }
    // A listener for comments may have closed the stream: nothing is handed out after that.
    this.#life.signal.throwIfAborted()
    this.#stats.bytes += connection.bytes
    if (batch.events.length > 0) this.#rhythm.event()
    const fresh = this.#intake.withoutDuplicates(batch, this.delivery.lastEventId)
    this.#intake.moveCursor(fresh)
    this.#stats.events += fresh.events.length
    this.#recovery.received(this.#intake.progress, connection.openedAt)
    const moved = fresh.events.length === 0 ? fresh.cursorMoves.at(-1) : undefined
    if (moved !== undefined) this.delivery.moved(moved.id)
    return fresh
  }

  #lose(connection: Connection, error: SseError): void {
    this.#connection = undefined
    this.#intake.endRun()
    // A listener may have closed the stream just now: nothing is told after that.
    this.#life.signal.throwIfAborted()
    this.#tellDrop(error, connection)
    const { events, openedAt } = connection
    const { progress } = this.#intake
    const tookMs = performance.now() - openedAt
    this.#loss = new Failure(error, { opened: true, progress, events, tookMs, written: true })
  }

  #tellDrop(error: SseError, connection: Connection | undefined): void {
    this.#lifecycle.tell('drop', {
      reason: dropReason(error),
      error,
      opened: connection !== undefined,
      openMs: connection === undefined ? 0 : Math.round(performance.now() - connection.openedAt),
      events: connection?.events ?? 0,
      discardedChars: connection?.pendingChars ?? 0,
    })
  }

  #heard(): void {
    this.#stats.heartbeat.comments++
    this.#rhythm.comment(performance.now())
  }

  reconnect(): void {
    if (!this.#options.repeatable) throw notResent(this.#options.method, undefined)
    this.#connection?.fail(rotated('reconnect() was called'))
    this.#pause.cut()
  }

  stats(): SseStats {
    const { failures } = this.#recovery.backoff
    return report(this.#stats, this.#options, { rhythm: this.#rhythm, failures, ids: this.#intake.size })
  }

  /** The end, whoever wants it: sockets and timers go at once, then the last handled id is saved. */
  end(reason: 'end' | 'closed' | 'aborted' | 'error', error: unknown): Promise<void> {
    if (this.state === 'closed') return this.#ending
    this.state = 'closed'
    this.#life.abort(reason === 'aborted' ? error : OVER)
    this.#connection?.close(this.#life.signal.reason)
    this.#connection = undefined
    this.delivery.discard()
    for (const undo of this.#atEnd) undo()
    this.#intake.endRun()
    this.#lifecycle.tell('close', { reason, error })
    this.#ending = this.#saver?.close() ?? Promise.resolve()
    // Whoever awaits the end hears of a failed save; nobody has to await it.
    this.#ending.catch(() => {})
    return this.#ending
  }

  /** The end by an error that the consumer is thrown; what the end itself throws does not hide it. */
  async fail(error: unknown): Promise<void> {
    if (error instanceof SseError) error.history = this.#lifecycle.history
    await this.end('error', error).catch(() => {})
  }

  /** What the consumer is told when the flow was left by a throw. */
  async #endWith(error: unknown): Promise<undefined> {
    const { signal } = this.#life
    if (this.#endTold) return undefined
    this.#endTold = true
    if (!signal.aborted) {
      await this.fail(error)
      throw error
    }
    await this.#ending
    if (signal.reason !== OVER) throw signal.reason
  }
}
