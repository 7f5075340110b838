import { FaultServerOptionError } from './errors.js'
import { type EventLog, type EventLogOptions, eventLog, type ServerEvent } from './log.js'
import type { FaultServerOptions } from './options.js'
import { Remote, type Tenant } from './process.js'
import type { FaultRecord, RecordedRequest } from './records.js'
import type { ConnectionScript } from './steps.js'

const TENANT: Tenant = {
  name: 'fault server',
  serve: 'serveParent',
  refuse: (url, allowed) => new FaultServerOptionError('modulePath', url, allowed),
}

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

/** A fault server in a process of its own, so that client and server do not share an event loop. */
export class RemoteFaultServer {
  /** A log with the same events as the server's, to compare what was received with. */
  readonly log: EventLog
  readonly #remote: Remote

  private constructor(remote: Remote, log: EventLog) {
    this.#remote = remote
    this.log = log
  }

  /** Use {@link FaultServer.spawn}. */
  static async spawn({ modulePath, ...options }: SpawnOptions): Promise<RemoteFaultServer> {
    const log = eventLog(options.log)
    const remote = await Remote.spawn(TENANT, modulePath, { ...options, log: log.options })
    return new RemoteFaultServer(remote, log)
  }

  /** Where the stream is. */
  get url(): string {
    return this.#remote.url
  }

  get port(): number {
    return this.#remote.port
  }

  /** The id of the server's process. */
  get pid(): number | undefined {
    return this.#remote.pid
  }

  /** The server with another path, such as one of `routes`. */
  urlOf(path: string): string {
    return new URL(path, this.url).href
  }

  /** Every request so far; times are on this process's `performance.now()` scale. */
  async requests(): Promise<RecordedRequest[]> {
    const requests = (await this.#remote.ask('requests')) as RecordedRequest[]
    return requests.map(request => ({
      ...request,
      // JSON leaves out what is undefined; comparing records must not depend on where the server ran.
      lastEventId: request.lastEventId,
      status: request.status,
      firstIndex: request.firstIndex,
      lastIndex: request.lastIndex,
      at: this.#remote.here(request.at),
      closedAt: request.closedAt === undefined ? undefined : this.#remote.here(request.closedAt),
      closedBy: request.closedBy,
    }))
  }

  /** Every fault that struck so far; times are on this process's `performance.now()` scale. */
  async faults(): Promise<FaultRecord[]> {
    const faults = (await this.#remote.ask('faults')) as FaultRecord[]
    return faults.map(fault => ({ ...fault, detail: fault.detail, at: this.#remote.here(fault.at) }))
  }

  sent(): Promise<number[]> {
    return this.#remote.ask('sent') as Promise<number[]>
  }

  openSockets(): Promise<number> {
    return this.#remote.ask('openSockets') as Promise<number>
  }

  connections(): Promise<number> {
    return this.#remote.ask('connections') as Promise<number>
  }

  async setScript(script: readonly ConnectionScript[], otherwise?: ConnectionScript): Promise<void> {
    await this.#remote.ask('setScript', script, ...(otherwise === undefined ? [] : [otherwise]))
  }

  /** Appends an event to the log, here and there. */
  async push(event: ServerEvent): Promise<number> {
    this.log.push(event)
    return (await this.#remote.ask('push', event)) as number
  }

  /** Evicts the first events from the replay buffer, here and there. */
  async forget(count: number): Promise<void> {
    this.log.forget(count)
    await this.#remote.ask('forget', count)
  }

  async refuse(ms?: number): Promise<void> {
    await this.#remote.ask('refuse', ...(ms === undefined ? [] : [ms]))
  }

  async accept(): Promise<void> {
    await this.#remote.ask('accept')
  }

  async resetAll(): Promise<void> {
    await this.#remote.ask('resetAll')
  }

  async waitForRequests(count: number, timeoutMs?: number): Promise<void> {
    await this.#remote.ask('waitForRequests', count, ...(timeoutMs === undefined ? [] : [timeoutMs]))
  }

  async waitForClose(index: number, timeoutMs?: number): Promise<void> {
    await this.#remote.ask('waitForClose', index, ...(timeoutMs === undefined ? [] : [timeoutMs]))
  }

  /** Ends the process, and with it everything it held. */
  close(): Promise<void> {
    return this.#remote.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
