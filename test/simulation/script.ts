import type { Body } from './body.ts'
import type { Request } from './history.ts'
import { bytesOf, encode } from './log.ts'
import type { StreamLeg, Write } from './schedule.ts'
import type { Server } from './server.ts'
import type { World } from './world.ts'

/** What fetch throws when the network fails. */
export function networkError(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}

/** One response at play: what a leg says is sent when. */
export class Script {
  readonly #server: Server
  readonly #world: World
  readonly #body: Body
  readonly #leg: StreamLeg
  readonly #request: Request
  #next: number
  /** What is left of the block that was begun. */
  #rest: Uint8Array = new Uint8Array()
  #count = 0

  constructor(server: Server, body: Body, leg: StreamLeg, start: number, request: Request) {
    this.#server = server
    this.#world = server.world
    this.#body = body
    this.#leg = leg
    this.#request = request
    this.#next = start
  }

  async play(): Promise<void> {
    const { clock, fault } = this.#world
    const leg = this.#leg
    this.#greet()
    for (const write of leg.writes) {
      if (write.afterMs > 0) await clock.sleep(write.afterMs)
      if (this.#body.over) return
      this.#write(write)
    }
    if (leg.end === 'follow') await this.#follow()
    else if (leg.endAfterMs > 0) await clock.sleep(leg.endAfterMs)
    if (this.#body.over) return
    const where = this.#rest.length > 0 ? 'inside a block' : 'between blocks'
    if (leg.end === 'stall') {
      fault('silence')
      // Somebody restarts the server in the end, for clients that cannot tell.
      await clock.sleep(this.#world.schedule.options.heartbeat === 'off' ? 600_000 : 86_400_000)
      if (!this.#body.over) this.#body.break(networkError('ECONNRESET'))
      return
    }
    if (leg.end === 'reset') {
      fault(`reset ${where}`)
      this.#body.break(networkError('ECONNRESET'))
    } else {
      fault(leg.framed ? `clean end ${where}` : 'unframed end')
      this.#body.end()
    }
  }

  #greet(): void {
    const { schedule, fault } = this.#world
    const { eol, ids } = schedule.log
    const { greeting } = this.#leg
    if (greeting === 'none') return
    fault(`greeting ${greeting}`)
    const isNext = schedule.options.resume !== 'off' && schedule.options.resume.isNext
    if (greeting === 'retry') {
      this.#retry('2500')
      return
    }
    const noIds = ids === 'none' || ids === 'renumbered'
    if (greeting === 'comment' || noIds || (greeting === 'emptyEvent' && isNext)) {
      this.#body.write(encode(`: hello${eol}${eol}`))
      return
    }
    const id = `hello-${this.#request.nr}`
    this.#server.greet(id, this.#next - 1)
    const data = greeting === 'emptyEvent' ? '' : undefined
    const text = `id: ${id}${eol}${data === '' ? `data:${eol}` : ''}${eol}`
    this.#body.block({ entry: undefined, id, data }, encode(text).length)
    this.#body.write(encode(text))
  }

  #write({ bytes, plus }: Write): void {
    this.#send(bytes === 0 ? Number.POSITIVE_INFINITY : bytes)
    if (plus === 'nothing') return
    this.#send(this.#rest.length)
    const { eol } = this.#world.schedule.log
    if (plus === 'comment') this.#body.write(encode(`: still here${eol}${eol}`))
    else this.#retry(plus.retry)
  }

  #retry(value: string): void {
    const { eol } = this.#world.schedule.log
    this.#world.fault(`retry: ${Number(value) > 3_600_000 ? 'huge' : Number(value) === 0 ? '0' : 'some'}`)
    this.#body.retry(value)
    this.#body.write(encode(`retry: ${value}${eol}${eol}`))
  }

  /** Up to so many bytes of the log. */
  #send(bytes: number): void {
    const parts: Uint8Array[] = []
    for (let left = bytes; left > 0; ) {
      if (this.#rest.length === 0 && !this.#begin()) break
      const part = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(part.length)
      left -= part.length
      parts.push(part)
    }
    if (parts.length > 0) this.#body.write(Buffer.concat(parts))
  }

  /** Begins the next block; false when there is none yet. */
  #begin(): boolean {
    if (this.#next >= this.#server.produced()) return false
    const entry = this.#server.entry(this.#next++)
    this.#server.reached(entry.index)
    const { eol, ids } = this.#world.schedule.log
    const id = ids === 'renumbered' && entry.id ? String(++this.#count) : entry.id
    this.#rest = bytesOf(entry, eol, id)
    this.#body.block({ entry, id, data: entry.data }, this.#rest.length)
    return true
  }

  /** Sends what comes as it comes, and comments, until its time is up. */
  async #follow(): Promise<void> {
    const { clock } = this.#world
    const { endAfterMs, commentsMs } = this.#leg
    const endAt = clock.now + endAfterMs
    let commentAt = clock.now + commentsMs
    while (clock.now < endAt && !this.#body.over) {
      this.#send(Number.POSITIVE_INFINITY)
      if (commentsMs > 0 && clock.now >= commentAt) {
        this.#body.write(encode(':\n'))
        commentAt = clock.now + commentsMs
      }
      const commentInMs = commentsMs > 0 ? commentAt - clock.now : Number.POSITIVE_INFINITY
      await clock.sleep(Math.min(this.#server.nextMs, commentInMs, endAt - clock.now))
    }
  }
}
