import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A TCP relay in front of a server that can turn its connections half-open: both ends stay connected, and what the
 * server writes is swallowed, as when a path dies without a word.
 */
export class Relay {
  /** Everything that clients have sent, connection after connection. */
  fromClients = ''
  swallowedBytes = 0
  connections = 0
  readonly #server: Server
  readonly #port: number
  readonly #pairs = new Set<{ swallowing: boolean; sockets: Socket[] }>()

  private constructor(port: number) {
    this.#port = port
    this.#server = createServer(client => this.#relay(client))
  }

  static async start(port: number): Promise<Relay> {
    const relay = new Relay(port)
    await new Promise<void>(resolve => relay.#server.listen(0, '127.0.0.1', resolve))
    return relay
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`
  }

  /** From now on nothing reaches the clients of the connections that are open at this moment. */
  swallow(): void {
    for (const pair of this.#pairs) pair.swallowing = true
  }

  #relay(client: Socket): void {
    this.connections++
    const upstream = connect(this.#port, '127.0.0.1')
    const pair = { swallowing: false, sockets: [client, upstream] }
    this.#pairs.add(pair)
    client.on('data', data => {
      this.fromClients += data.toString('latin1')
      upstream.write(data)
    })
    upstream.on('data', data => {
      if (pair.swallowing) this.swallowedBytes += data.length
      else client.write(data)
    })
    const over = () => {
      this.#pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    for (const socket of pair.sockets) socket.on('error', over).on('close', over)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { sockets } of this.#pairs) for (const socket of sockets) socket.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
