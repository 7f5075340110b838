import { type AddressInfo, createServer, type Server, type ServerOpts, type Socket } from 'node:net'

// The system may have lent the port to an outgoing connection meanwhile; it comes back within moments.
const BUSY_RETRY_MS = 20

/** The listening sockets of one server: one port on one or several addresses, which can be closed and opened again. */
export class Listener {
  port: number
  #servers: Server[] = []
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(
    readonly hosts: readonly string[],
    port: number,
    readonly onSocket: (socket: Socket) => void,
    readonly options: ServerOpts = {},
  ) {
    this.port = port
  }

  get listening(): boolean {
    return this.#servers.length > 0
  }

  async open(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.listening || this.#closed) return
    for (const host of this.hosts) {
      const server = createServer(this.options, this.onSocket)
      this.#servers.push(server)
      try {
        await new Promise<void>((resolve, reject) => {
          server.once('error', reject)
          server.listen({ host, port: this.port }, resolve)
        })
      } catch (error) {
        this.#stop()
        throw error
      }
      this.port = (server.address() as AddressInfo).port
    }
  }

  /** Refuses connections for `ms` milliseconds; without, until {@link open}. */
  refuse(ms?: number): void {
    this.#stop()
    clearTimeout(this.#timer)
    if (ms !== undefined && !this.#closed) this.#timer = setTimeout(() => this.#reopen(), ms)
  }

  /** For good. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#stop()
  }

  #reopen(): void {
    this.open().catch(() => {
      this.#timer = setTimeout(() => this.#reopen(), BUSY_RETRY_MS)
    })
  }

  // Closing the descriptor is immediate; the callback would wait for connections, which are not ours to wait for.
  #stop(): void {
    for (const server of this.#servers) server.close()
    this.#servers = []
  }
}
