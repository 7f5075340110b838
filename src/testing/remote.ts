import { type ChildProcess, spawn } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { FaultServerOptionError } from './errors.js'
import { type EventLog, type EventLogOptions, eventLog, type ServerEvent } from './log.js'
import type { FaultServerOptions } from './options.js'
import type { FaultRecord, RecordedRequest } from './records.js'
import type { ConnectionScript } from './steps.js'

/** Options of {@link FaultServer.spawn}: those of a server, as data that can be sent to another process. */
export interface SpawnOptions extends Omit<FaultServerOptions, 'log' | 'tls'> {
  /** Options of the log; the same log is made here, as {@link RemoteFaultServer.log}, to compare with. */
  log?: EventLogOptions
  /** Key and certificate as PEM text: bytes would not survive the way to the child. */
  tls?: { key: string; cert: string }
  /**
   * The built JavaScript module that the child imports, as a path or a file URL. Default: the module this code runs
   * from. Needed only where that is TypeScript or a bundle: `dist/testing.js` of this package.
   */
  modulePath?: string
}

/** What the parent asks of the child, and what comes back. */
export interface RemoteCall {
  call: number
  method: string
  args: unknown[]
}
export type RemoteReply = { call: number; value?: unknown; error?: { name: string; message: string } }
/** First answer of the child: where it listens, and when its clock began. */
export interface RemoteStart {
  url: string
  port: number
  timeOrigin: number
}

const READY_MS = 10_000
const EXIT_MS = 5000

/** A fault server in a process of its own, so that client and server do not share an event loop. */
export class RemoteFaultServer {
  /** A log with the same events as the server's, to compare what was received with. */
  readonly log: EventLog
  readonly #child: ChildProcess
  readonly #calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #start: RemoteStart = { url: '', port: 0, timeOrigin: performance.timeOrigin }
  #call = 0

  private constructor(child: ChildProcess, log: EventLog) {
    this.#child = child
    this.log = log
    child.on('message', message => this.#answered(message as RemoteReply))
    child.once('exit', () => this.#lost(`the fault server's process ended (code ${child.exitCode})`))
    child.once('error', error =>
      this.#lost(`the fault server's process could not be started: ${error.message}`),
    )
    // A test that forgets close() must be able to end; the child ends when it loses its parent.
    child.unref()
    child.channel?.unref()
  }

  /** Use {@link FaultServer.spawn}. */
  static async spawn({ modulePath, ...options }: SpawnOptions): Promise<RemoteFaultServer> {
    const log = eventLog(options.log)
    const module = moduleUrl(modulePath)
    const child = spawn(process.execPath, ['--input-type=module', '--eval', entry(module)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const remote = new RemoteFaultServer(child, log)
    try {
      const timeout = rejectAfter(READY_MS, `the fault server's process was not ready after ${READY_MS} ms`)
      const started = remote.#ask('start', { ...options, log: log.options })
      remote.#start = (await Promise.race([started, timeout.promise]).finally(timeout.stop)) as RemoteStart
      return remote
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }

  /** Where the stream is. */
  get url(): string {
    return this.#start.url
  }

  get port(): number {
    return this.#start.port
  }

  /** The id of the server's process. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  /** The server with another path, such as one of `routes`. */
  urlOf(path: string): string {
    return new URL(path, this.url).href
  }

  /** Every request so far; times are on this process's `performance.now()` scale. */
  async requests(): Promise<RecordedRequest[]> {
    const requests = (await this.#ask('requests')) as RecordedRequest[]
    return requests.map(request => ({
      ...request,
      // JSON leaves out what is undefined; comparing records must not depend on where the server ran.
      lastEventId: request.lastEventId,
      status: request.status,
      firstIndex: request.firstIndex,
      lastIndex: request.lastIndex,
      at: this.#here(request.at),
      closedAt: request.closedAt === undefined ? undefined : this.#here(request.closedAt),
      closedBy: request.closedBy,
    }))
  }

  /** Every fault that struck so far; times are on this process's `performance.now()` scale. */
  async faults(): Promise<FaultRecord[]> {
    const faults = (await this.#ask('faults')) as FaultRecord[]
    return faults.map(fault => ({ ...fault, detail: fault.detail, at: this.#here(fault.at) }))
  }

  sent(): Promise<number[]> {
    return this.#ask('sent') as Promise<number[]>
  }

  openSockets(): Promise<number> {
    return this.#ask('openSockets') as Promise<number>
  }

  connections(): Promise<number> {
    return this.#ask('connections') as Promise<number>
  }

  async setScript(script: readonly ConnectionScript[], otherwise?: ConnectionScript): Promise<void> {
    await this.#ask('setScript', script, ...(otherwise === undefined ? [] : [otherwise]))
  }

  /** Appends an event to the log, here and there. */
  async push(event: ServerEvent): Promise<number> {
    this.log.push(event)
    return (await this.#ask('push', event)) as number
  }

  /** Evicts the first events from the replay buffer, here and there. */
  async forget(count: number): Promise<void> {
    this.log.forget(count)
    await this.#ask('forget', count)
  }

  async refuse(ms?: number): Promise<void> {
    await this.#ask('refuse', ...(ms === undefined ? [] : [ms]))
  }

  async accept(): Promise<void> {
    await this.#ask('accept')
  }

  async resetAll(): Promise<void> {
    await this.#ask('resetAll')
  }

  async waitForRequests(count: number, timeoutMs?: number): Promise<void> {
    await this.#ask('waitForRequests', count, ...(timeoutMs === undefined ? [] : [timeoutMs]))
  }

  async waitForClose(index: number, timeoutMs?: number): Promise<void> {
    await this.#ask('waitForClose', index, ...(timeoutMs === undefined ? [] : [timeoutMs]))
  }

  /** Ends the process, and with it everything it held. */
  async close(): Promise<void> {
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const gone = new Promise<void>(resolve => child.once('exit', () => resolve()))
    if (child.connected) child.disconnect()
    const late = setTimeout(() => child.kill('SIGKILL'), EXIT_MS)
    await gone
    clearTimeout(late)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #here(at: number): number {
    return at + this.#start.timeOrigin - performance.timeOrigin
  }

  #ask(method: string, ...args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (!this.#child.connected) {
        reject(new Error("the fault server's process has ended"))
        return
      }
      const call = ++this.#call
      this.#calls.set(call, { resolve, reject })
      this.#child.ref()
      this.#child.channel?.ref()
      const message: RemoteCall = { call, method, args }
      this.#child.send(message, error => {
        if (error !== null) this.#answered({ call, error })
      })
    })
  }

  #answered({ call, value, error }: RemoteReply): void {
    const waiting = this.#calls.get(call)
    if (waiting === undefined) return
    this.#calls.delete(call)
    if (this.#calls.size === 0) {
      this.#child.unref()
      this.#child.channel?.unref()
    }
    if (error === undefined) waiting.resolve(value)
    else waiting.reject(Object.assign(new Error(error.message), { name: error.name }))
  }

  #lost(message: string): void {
    for (const call of [...this.#calls.keys()]) this.#answered({ call, error: { name: 'Error', message } })
  }
}

// Found by what it can do, not by name: a bundler may have moved it to a chunk and called it something else there.
const entry = (module: string) => `const module = await import(${JSON.stringify(module)})
const all = [module, module.default].flatMap(one => Object.values(one ?? {}))
const Server = all.find(one => typeof one === 'function' && typeof one.serveParent === 'function')
if (Server === undefined) throw new Error('no FaultServer in ' + ${JSON.stringify(module)})
Server.serveParent()`

function moduleUrl(given: string | undefined): string {
  // The CommonJS build has no import.meta.url and the ES module no __filename.
  const own = typeof __filename === 'string' ? pathToFileURL(__filename).href : import.meta.url
  const url = given === undefined ? own : given.startsWith('file:') ? given : pathToFileURL(given).href
  if (/\.[cm]?tsx?$/.test(url))
    throw new FaultServerOptionError(
      'modulePath',
      url,
      'a built module such as dist/testing.js: a child runs no TypeScript',
    )
  return url
}

function rejectAfter(ms: number, message: string): { promise: Promise<never>; stop: () => void } {
  let stop = () => {}
  const promise = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error(message)), ms)
    stop = () => clearTimeout(timer)
  })
  return { promise, stop }
}
