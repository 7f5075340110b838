// The event store in an append-only file, one for each session: its messages outlive the server.
//
// It writes before anything is sent, so what a client has seen, the file knows. A process that is killed loses nothing
// that it has written; only when the machine stops, too, must it be on the disk: `sync`, which costs milliseconds an event.
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { RequestId } from '@modelcontextprotocol/sdk/types.js'
import { eventOf, type Limits, MemoryEventStore, type Stored } from './event-store.ts'

export interface FileOptions {
  limits?: Partial<Limits>
  /** Wait for the disk with each event. */
  sync?: boolean
  /**
   * Told when the file cannot be written, and what of it cannot be read. Messages are sent all the same: to throw would
   * leave calls without an answer whose only fault is that it would not survive a restart.
   */
  onError: (error: Error) => void
}

/** A file without this first line is not ours, and is not touched. */
const HEADER = `${JSON.stringify({ format: 'mcp-events', version: 1 })}\n`
/** How much a file may grow beyond twice of what it held when it was last rewritten. */
const SLACK = 65_536
/** What both SDK lines call the stream that answers no request. */
const STANDALONE = '_GET_stream'

export class FileEventStore extends MemoryEventStore {
  readonly #file: string
  readonly #options: FileOptions
  readonly #asked = new AsyncLocalStorage<RequestId[]>()
  /** The file is not what this store knows: there is none, it ends in half a line, or a write has failed. */
  #behind = true
  #failing = false
  #removed = false
  #size = 0
  #sizeRewritten = 0

  /** Opens the file, or makes one with the first event. Throws on a file that is something else. */
  constructor(file: string, options: FileOptions) {
    super(options.limits)
    this.#file = file
    this.#options = options
    if (existsSync(file)) this.#load(readFileSync(file, 'utf8'))
  }

  /** Runs what handles these requests, so that their streams are known to be theirs. */
  during<T>(requests: RequestId[], handle: () => T): T {
    return this.#asked.run(requests, handle)
  }

  /** After a restart nobody works on the calls that were open. Answers them, so that their clients need not wait. */
  async endOpenCalls(): Promise<void> {
    const message = 'The server was restarted during this call; what it has done is not known'
    for (const { streamId, open = [], next } of [...this.kept()])
      for (const id of next === undefined ? open : [])
        await this.storeEvent(streamId, { jsonrpc: '2.0', id, error: { code: -32_000, message } })
  }

  /** For a session that its client has ended: nobody will ask again. */
  remove(): void {
    this.#removed = true
    rmSync(this.#file, { force: true })
  }

  protected override keep(event: Stored): void {
    const { streamId, answer, json } = event
    const asked = streamId === STANDALONE ? [] : this.#asked.getStore()
    const open = this.lastOf(streamId)?.open ?? asked ?? []
    const answered = answer ? (JSON.parse(json) as { id: RequestId }).id : undefined
    event.open = open.filter(id => id !== answered)
    super.keep(event)
    this.#write(lineOf(event))
  }

  #write(line: string): void {
    if (this.#removed) return
    try {
      if (this.#behind || this.#size > 2 * this.#sizeRewritten + SLACK) this.#rewrite()
      else this.#append(line)
      this.#behind = false
      this.#failing = false
    } catch (error) {
      // Half of the line may be there. The next event rewrites everything, which leaves no hole where this one was.
      this.#behind = true
      if (!this.#failing) this.#options.onError(error as Error)
      this.#failing = true
    }
  }

  #append(line: string): void {
    // A file that somebody has removed is not made anew: it would lack what was in it.
    this.#writeTo(this.#file, constants.O_WRONLY | constants.O_APPEND, line)
    this.#size += line.length
  }

  /** A rename is all or nothing: whoever is killed here leaves the old file or the new one. */
  #rewrite(): void {
    const text = HEADER + [...this.kept()].map(lineOf).join('')
    this.#writeTo(`${this.#file}.new`, 'w', text)
    renameSync(`${this.#file}.new`, this.#file)
    // The new name is on the disk when the folder is. Windows cannot be asked for that.
    if (this.#options.sync && process.platform !== 'win32') this.#writeTo(dirname(this.#file), 'r', '')
    this.#size = text.length
    this.#sizeRewritten = text.length
  }

  #writeTo(path: string, flags: string | number, text: string): void {
    const file = openSync(path, flags, 0o600)
    try {
      writeFileSync(file, text)
      if (this.#options.sync) fsyncSync(file)
    } finally {
      closeSync(file)
    }
  }

  #load(text: string): void {
    if (text !== '' && !text.startsWith(HEADER)) throw new Error(`${this.#file} is not a file of MCP events`)
    const lines = text.slice(HEADER.length).split('\n')
    // What follows the last line feed was cut off by the end of its process, before anybody was sent it.
    const whole = lines.pop() === ''
    const events = lines.map(parse)
    const damaged = events.lastIndexOf(undefined)
    if (damaged >= 0)
      this.#options.onError(
        new Error(`${this.#file}: line ${damaged + 2} is damaged; what was before it is unknown`),
      )
    // A replay that begins before the damage would have a hole.
    for (const event of events.slice(damaged + 1)) super.keep(event as Stored)
    this.#behind = text === '' || !whole || damaged >= 0
    this.#size = text.length
    this.#sizeRewritten = text.length
  }
}

const lineOf = ({ id, streamId, open, json }: Stored): string =>
  `${JSON.stringify({ id, streamId, open }).slice(0, -1)},"message":${json}}\n`

function parse(line: string): Stored | undefined {
  try {
    const { id, streamId, open, message } = JSON.parse(line)
    return { ...eventOf(id, streamId, message), open }
  } catch {
    return undefined
  }
}
