import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import { type ParsedRequest, takeRequest } from './http.js'

/** Thrown inside a script when its connection is over: it unwinds whatever the script was waiting for. */
export class Gone extends Error {}

/** Counts what a response costs; the record of a request is one. */
export interface Meter {
  bytesWritten: number
  /** performance.now() at which the current wait for the client began. */
  blockedSince: number | undefined
  blockedMs: number
}

/**
 * One accepted socket: requests come out, bytes go in with backpressure, and every wait ends when the socket does, so
 * that no timer outlives its connection.
 */
export class Connection {
  /** Who ended it; undefined while it is open. */
  closedBy: 'client' | 'server' | undefined
  meter: Meter | undefined
  readonly #leavers = new Set<() => void>()
  readonly #watchers = new Set<() => void>()
  #received: Buffer = Buffer.alloc(0)
  #pending = 0

  /**
   * @param socket what is read and written (TLS or not)
   * @param tcp the TCP socket below it: only that one can send a RST
   */
  constructor(
    readonly id: number,
    readonly socket: Socket,
    readonly tcp: Socket,
  ) {
    socket.setNoDelay(true)
    socket.on('data', (data: Buffer) => {
      this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data])
      this.#wake()
    })
    socket.on('end', () => this.#over('client'))
    // What went wrong is the client's affair; here only the fact counts that the socket is gone.
    socket.on('error', () => this.#over('client'))
    socket.on('close', () => this.#over('client'))
    if (tcp !== socket) tcp.on('error', () => this.#over('client')).on('close', () => this.#over('client'))
  }

  /** The next request on this socket; undefined when the socket is over or does not speak HTTP. */
  async nextRequest(): Promise<ParsedRequest | undefined> {
    try {
      for (;;) {
        const taken = takeRequest(this.#received)
        if (taken !== undefined) {
          this.#received = taken.rest
          return taken.request
        }
        await this.until(done => {
          this.#watchers.add(done)
          return () => this.#watchers.delete(done)
        })
      }
    } catch {
      this.destroy()
      return undefined
    }
  }

  /**
   * Waits for whatever `subscribe` is told about, or throws {@link Gone}; `subscribe` returns how to stop listening.
   */
  until(subscribe: (done: () => void) => () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.closedBy !== undefined) {
        reject(new Gone())
        return
      }
      const leave = () => {
        this.#leavers.delete(leave)
        stop()
        reject(new Gone())
      }
      this.#leavers.add(leave)
      const stop = subscribe(() => {
        this.#leavers.delete(leave)
        stop()
        resolve()
      })
    })
  }

  sleep(ms: number): Promise<void> {
    return this.until(done => {
      const timer = setTimeout(done, ms)
      return () => clearTimeout(timer)
    })
  }

  /** Lets the event loop turn once. */
  turn(): Promise<void> {
    return this.until(done => {
      const turn = setImmediate(done)
      return () => clearImmediate(turn)
    })
  }

  /** Never resolves; throws {@link Gone} when the connection is over. */
  forever(): Promise<never> {
    return this.until(() => () => {}) as Promise<never>
  }

  /** Writes the parts as one and waits until the client has made room. */
  async write(...parts: Buffer[]): Promise<void> {
    if (this.closedBy !== undefined) throw new Gone()
    this.socket.cork()
    for (const part of parts) {
      if (this.meter !== undefined) this.meter.bytesWritten += part.length
      this.#pending++
      this.socket.write(part, () => {
        this.#pending--
        if (this.#pending === 0) this.#wake()
      })
    }
    this.socket.uncork()
    if (!this.socket.writableNeedDrain) return
    const meter = this.meter
    const since = performance.now()
    if (meter !== undefined) meter.blockedSince = since
    try {
      await this.until(done => {
        this.socket.once('drain', done)
        return () => this.socket.off('drain', done)
      })
    } finally {
      if (meter !== undefined) {
        meter.blockedSince = undefined
        meter.blockedMs += performance.now() - since
      }
    }
  }

  /** Waits until the kernel has taken every byte. */
  async flush(): Promise<void> {
    while (this.#pending > 0)
      await this.until(done => {
        this.#watchers.add(done)
        return () => this.#watchers.delete(done)
      })
  }

  /** FIN, after what was written. */
  finish(): void {
    this.#over('server')
    this.socket.end()
  }

  /** RST, at once. */
  reset(): void {
    this.#over('server')
    this.tcp.resetAndDestroy()
    if (this.tcp !== this.socket) this.socket.destroy()
  }

  /** Closes without ceremony. */
  destroy(): void {
    this.#over('server')
    this.socket.destroy()
    this.tcp.destroy()
  }

  #wake(): void {
    for (const done of [...this.#watchers]) done()
  }

  #over(by: 'client' | 'server'): void {
    if (this.closedBy !== undefined) return
    this.closedBy = by
    for (const leave of [...this.#leavers]) leave()
  }
}
