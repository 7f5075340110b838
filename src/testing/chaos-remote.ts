import type { ChaosRelay } from './chaos.js'
import type { ChaosFault, ChaosFaultName } from './chaos-faults.js'
import type { ChaosRelayOptions } from './chaos-options.js'
import type { ChaosConnection, ChaosRecord } from './chaos-records.js'
import { ChaosOptionError } from './errors.js'
import { Remote, type Tenant } from './process.js'

/** Options of `chaosRelay.spawn`: those of a relay, as data that can be sent to another process. */
export interface ChaosSpawnOptions extends Omit<ChaosRelayOptions, 'onStrike'> {
  /**
   * The built JavaScript module that the child imports, as a path or a file URL. Default: the module this code runs
   * from. Needed only where that is TypeScript or a bundle: `dist/testing.js` of this package.
   */
  modulePath?: string
}

const TENANT: Tenant = {
  name: 'chaos relay',
  serve: 'serveRelayParent',
  refuse: (url, allowed) => new ChaosOptionError('modulePath', url, allowed),
}

/** A chaos relay in a process of its own, so that client and relay do not share an event loop. */
export class RemoteChaosRelay {
  readonly #remote: Remote

  private constructor(remote: Remote) {
    this.#remote = remote
  }

  /** Use `chaosRelay.spawn`. */
  static async spawn({ modulePath, ...options }: ChaosSpawnOptions): Promise<RemoteChaosRelay> {
    // JSON has no Infinity and no URL.
    const { rounds, target, ...rest } = options
    const plain = { ...rest, target: target instanceof URL ? target.href : target }
    return new RemoteChaosRelay(
      await Remote.spawn(
        TENANT,
        modulePath,
        rounds === Number.POSITIVE_INFINITY || rounds === undefined ? plain : { ...plain, rounds },
      ),
    )
  }

  /** See {@link ChaosRelay.url}. */
  get url(): string {
    return this.#remote.url
  }

  get port(): number {
    return this.#remote.port
  }

  /** The id of the relay's process. */
  get pid(): number | undefined {
    return this.#remote.pid
  }

  /** See {@link ChaosRelay.strike}. */
  strike(fault: ChaosFault | ChaosFaultName, options: { connection?: number } = {}): Promise<number> {
    return this.#remote.ask('strike', fault, options) as Promise<number>
  }

  /** What the relay did; times are on this process's `performance.now()` scale. */
  async faults(): Promise<ChaosRecord[]> {
    const records = (await this.#remote.ask('faults')) as ChaosRecord[]
    return records.map(record => ({
      ...record,
      // JSON leaves out what is undefined; comparing records must not depend on where the relay ran.
      connection: record.connection,
      detail: record.detail,
      at: this.#remote.here(record.at),
    }))
  }

  /** The connections so far; times are on this process's `performance.now()` scale. */
  async connections(): Promise<ChaosConnection[]> {
    const records = (await this.#remote.ask('connections')) as ChaosConnection[]
    return records.map(record => ({
      ...record,
      clientPort: record.clientPort,
      dealt: record.dealt,
      acceptedAt: this.#remote.here(record.acceptedAt),
      closedAt: record.closedAt === undefined ? undefined : this.#remote.here(record.closedAt),
    }))
  }

  openConnections(): Promise<number> {
    return this.#remote.ask('openConnections') as Promise<number>
  }

  /** Ends the process, and with it everything it held. */
  close(): Promise<void> {
    return this.#remote.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** The calls of a {@link RemoteChaosRelay}. */
export function answerChaosRelay(relay: ChaosRelay, method: string, args: unknown[]): unknown {
  switch (method) {
    case 'faults':
    case 'connections':
    case 'openConnections':
      return relay[method]
    case 'strike':
      return (relay.strike as (...given: unknown[]) => unknown).apply(relay, args)
    default:
      throw new Error(`unknown method ${method}`)
  }
}
