import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { message, NoResult, start, stop } from '../measure/processes.ts'
import type { ClientOrder, Measured, Opened, Order } from './orders.ts'

const OPEN_LIMIT_MS = 180_000

/** Many streams of one kind of client, in a process of its own, against a server in another. */
export class Crowd implements AsyncDisposable {
  readonly opened: Opened
  readonly #server: ChildProcess
  readonly #client: ChildProcess

  private constructor(server: ChildProcess, client: ChildProcess, opened: Opened) {
    this.#server = server
    this.#client = client
    this.opened = opened
  }

  /** `countTimers` costs time and memory: not for who measures those. */
  static async gather(client: string, streams: number, countTimers = false): Promise<Crowd> {
    const server = start('crowd/server', {})
    let child: ChildProcess | undefined
    try {
      const { port } = await message<{ port: number }>(server, 10_000)
      child = start('crowd/client', { client, port, streams, countTimers }, { execArgv: ['--expose-gc'] })
      return new Crowd(server, child, await message<Opened>(child, OPEN_LIMIT_MS))
    } catch (error) {
      if (child) await stop(child)
      await stop(server)
      throw error
    }
  }

  /** What the client process does while the server carries out its order, for so long. */
  async during(order: Order, ms: number): Promise<Measured> {
    await this.#begin(order, Number.POSITIVE_INFINITY)
    await sleep(ms)
    this.#tellClient({ do: 'tell' })
    return this.#end(10_000)
  }

  /** What it takes until every stream has had its frames. */
  async until(order: Order & { each: number }, limitMs: number): Promise<Measured> {
    await this.#begin(order, order.each)
    return this.#end(limitMs)
  }

  async #begin(order: Order, each: number): Promise<void> {
    this.#tellClient({ do: 'measure', each })
    await message<'ready'>(this.#client, 10_000)
    this.#server.send(order)
  }

  #tellClient(order: ClientOrder): void {
    this.#client.send(order)
  }

  async #end(limitMs: number): Promise<Measured> {
    const measured = await message<Measured>(this.#client, limitMs)
    if (measured.wrong > 0) throw new NoResult(`${measured.wrong} events missing, altered or interrupted`)
    return measured
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stop(this.#client)
    await stop(this.#server)
  }
}
