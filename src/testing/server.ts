import type { Socket } from 'node:net'
import { createSecureContext, type SecureContext, type SecureContextOptions, TLSSocket } from 'node:tls'
import { checkScript, checkScripts } from './check.js'
import { answerFaultServer, serveParent } from './child.js'
import { Connection, Gone } from './connection.js'
import { FaultServerOptionError } from './errors.js'
import type { ParsedRequest } from './http.js'
import { Ledger } from './ledger.js'
import { Listener } from './listener.js'
import { EventLog, eventLog, type ServerEvent } from './log.js'
import { checkOptions, type FaultServerOptions } from './options.js'
import { play } from './play.js'
import { type FaultRecord, type RecordedRequest, Recorder } from './records.js'
import { RemoteFaultServer, type SpawnOptions } from './remote.js'
import { Reply } from './reply.js'
import type { ConnectionScript } from './steps.js'
import { rest, stay } from './words.js'

const DEFAULT_WAIT_MS = 5000

/**
 * An HTTP/1.1 server on a raw TCP socket that does to its clients what a script says, and keeps account of it.
 *
 * ```ts
 * await using server = await FaultServer.start({
 *   log: eventLog({ count: 500, ids: 'opaque' }),
 *   script: [[send(20), reset()], [answer(503)]], // first request, second request; then everything, healthily
 * })
 * ```
 */
export class FaultServer {
  /** The event log; what is pushed to it reaches the open streams. */
  readonly log: EventLog
  readonly #ledger: Ledger
  readonly #listener: Listener
  readonly #secure: SecureContext | undefined
  readonly #path: string
  readonly #connections = new Set<Connection>()
  readonly #requests: Recorder[] = []
  readonly #watchers = new Set<() => void>()
  readonly #routes = new Map<string, { scripts: readonly ConnectionScript[]; next: number }>()
  #script: readonly ConnectionScript[]
  #otherwise: ConnectionScript
  #next = 0
  #accepted = 0

  private constructor(options: FaultServerOptions) {
    checkOptions(options)
    const {
      log,
      script = [],
      otherwise = [rest(), stay()],
      routes = {},
      host = '127.0.0.1',
      port = 0,
      tls,
    } = options
    this.log = log instanceof EventLog ? log : eventLog(log)
    this.#ledger = new Ledger(this.log, options.onUnknownId ?? 'start')
    this.#listener = new Listener([host].flat(), port, socket => this.#accept(socket))
    this.#secure = tls === undefined ? undefined : secureContext(tls)
    this.#path = options.path ?? '/events'
    this.#script = script
    this.#otherwise = otherwise
    for (const [path, scripts] of Object.entries(routes)) this.#routes.set(path, { scripts, next: 0 })
  }

  /** Checks the options, listens, and resolves when the first connection can come. */
  static async start(options: FaultServerOptions = {}): Promise<FaultServer> {
    const server = new FaultServer(options)
    await server.#listener.open()
    if (options.refuseFirstMs !== undefined) server.refuse(options.refuseFirstMs)
    return server
  }

  /**
   * Starts a server in a process of its own, with the same options as plain data. Its methods return promises; the
   * process ends with `close()`, or when this one is gone.
   */
  static spawn(options: SpawnOptions = {}): Promise<RemoteFaultServer> {
    return RemoteFaultServer.spawn(options)
  }

  /** @internal What the spawned process runs. */
  static serveParent(): void {
    serveParent((options: FaultServerOptions) => FaultServer.start(options), answerFaultServer)
  }

  /** Where the stream is: `http://127.0.0.1:PORT/events`. */
  get url(): string {
    return this.urlOf(this.#path)
  }

  /** The same server with another path, such as one of `routes`. */
  urlOf(path: string): string {
    const host = this.#listener.hosts[0] ?? ''
    const name = host.includes(':') ? `[${host}]` : host
    return `${this.#secure === undefined ? 'http' : 'https'}://${name}:${this.port}${path}`
  }

  /** The port; it stays the same while connections are refused. */
  get port(): number {
    return this.#listener.port
  }

  /** Every request, in the order in which they came. The records are live: they grow until `closedAt` is set. */
  get requests(): readonly RecordedRequest[] {
    return this.#requests
  }

  /** Every fault that struck, in order. */
  get faults(): readonly FaultRecord[] {
    return this.#ledger.faults
  }

  /** How many sockets are open at this moment. */
  get openSockets(): number {
    return this.#connections.size
  }

  /** How many TCP connections were accepted since the start, whether or not a request came. */
  get connections(): number {
    return this.#accepted
  }

  /** The index of every log event that was written completely at least once, in order. */
  sent(): number[] {
    return this.#ledger.sent()
  }

  /** Appends an event to the log; see {@link EventLog.push}. */
  push(event: ServerEvent): number {
    return this.log.push(event)
  }

  /** Replaces what comes next: the following request gets `script[0]`. Open connections play on. */
  setScript(script: readonly ConnectionScript[], otherwise: ConnectionScript = this.#otherwise): void {
    checkScripts(script, 'script')
    checkScript(otherwise, 'otherwise')
    this.#script = script
    this.#otherwise = otherwise
    this.#next = 0
  }

  /** Refuses new connections for `ms` milliseconds, or until {@link accept}. Open ones are not touched. */
  refuse(ms?: number): void {
    this.#listener.refuse(ms)
  }

  /** Takes connections again, on the same port. */
  accept(): Promise<void> {
    return this.#listener.open()
  }

  /** Resets (RST) every open socket. */
  resetAll(): void {
    for (const connection of [...this.#connections]) connection.reset()
  }

  /** Resolves when `count` requests have come; rejects after `timeoutMs` (default 5,000). */
  waitForRequests(count: number, timeoutMs = DEFAULT_WAIT_MS): Promise<void> {
    return this.#wait(
      () => this.#requests.length >= count,
      timeoutMs,
      () => `waited ${timeoutMs} ms for ${count} requests, ${this.#requests.length} came`,
    )
  }

  /** Resolves when request `index` is over; rejects after `timeoutMs` (default 5,000). */
  waitForClose(index: number, timeoutMs = DEFAULT_WAIT_MS): Promise<void> {
    return this.#wait(
      () => this.#requests[index]?.closedAt !== undefined,
      timeoutMs,
      () => `waited ${timeoutMs} ms for the end of request ${index}`,
    )
  }

  /** Ends everything: sockets, listener, timers. */
  async close(): Promise<void> {
    this.#listener.close()
    for (const connection of [...this.#connections]) connection.destroy()
    await this.#wait(
      () => this.#connections.size === 0,
      DEFAULT_WAIT_MS,
      () => 'sockets did not close',
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #accept(tcp: Socket): void {
    const socket =
      this.#secure === undefined ? tcp : new TLSSocket(tcp, { isServer: true, secureContext: this.#secure })
    const connection = new Connection(++this.#accepted, socket, tcp)
    this.#connections.add(connection)
    tcp.once('close', () => {
      this.#connections.delete(connection)
      this.#changed()
    })
    this.#serve(connection)
  }

  async #serve(connection: Connection): Promise<void> {
    for (let again = true; again; ) {
      const request = await connection.nextRequest()
      if (request === undefined) return
      again = await this.#respond(connection, request)
    }
  }

  async #respond(connection: Connection, request: ParsedRequest): Promise<boolean> {
    const record = new Recorder(
      this.#requests.length,
      connection.id,
      connection.tcp.localAddress ?? '',
      request,
    )
    this.#requests.push(record)
    const script = this.#scriptFor(request.url)
    connection.meter = record
    const keepAlive = request.httpVersion === '1.1' && !/\bclose\b/i.test(request.headers.connection ?? '')
    try {
      const playing = play(script, connection, new Reply(connection, this.#ledger, record, keepAlive), this)
      this.#changed()
      return await playing
    } catch (error) {
      // A script cannot fail by itself once it was checked; if it does, the test must not wait for ever.
      if (!(error instanceof Gone)) connection.destroy()
      if (!(error instanceof Gone)) throw error
      return false
    } finally {
      connection.meter = undefined
      record.close(connection.closedBy ?? 'server')
      this.#changed()
    }
  }

  #scriptFor(url: string): ConnectionScript {
    const route = this.#routes.get(url.split('?', 1)[0] ?? '')
    if (route !== undefined)
      return route.scripts[Math.min(route.next++, route.scripts.length - 1)] ?? this.#otherwise
    return this.#script[this.#next++] ?? this.#otherwise
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }

  #wait(isDone: () => boolean, timeoutMs: number, message: () => string): Promise<void> {
    if (isDone()) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        this.#watchers.delete(watcher)
        act()
      }
      const watcher = () => {
        if (isDone()) settle(resolve)
      }
      const timer = setTimeout(() => settle(() => reject(new Error(message()))), timeoutMs)
      this.#watchers.add(watcher)
    })
  }
}

function secureContext(options: SecureContextOptions): SecureContext {
  try {
    return createSecureContext(options)
  } catch (error) {
    throw new FaultServerOptionError(
      'tls',
      options,
      `a key and a certificate in PEM (${(error as Error).message})`,
    )
  }
}
