// The event store in an append-only file, one for each session: its messages outlive the server.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { MemoryEventStore } from './event-store.ts'

interface Line {
  streamId: string
  id: string
  message: JSONRPCMessage
}

export class FileEventStore extends MemoryEventStore {
  readonly #file: string

  constructor(file: string, maxEvents: number) {
    super(maxEvents)
    this.#file = file
    for (const { streamId, id, message } of linesOf(file)) this.restore(streamId, id, message)
  }

  /** The file of a session, or `undefined` when there is none. A session's name comes from the network. */
  static find(folder: string, session: string): string | undefined {
    if (!/^[\w-]+$/.test(session)) return undefined
    const file = join(folder, `${session}.jsonl`)
    return existsSync(file) ? file : undefined
  }

  static create(folder: string, session: string, maxEvents: number): FileEventStore {
    mkdirSync(folder, { recursive: true })
    return new FileEventStore(join(folder, `${session}.jsonl`), maxEvents)
  }

  override async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = await super.storeEvent(streamId, message)
    // Written before it is sent: what a client has seen, the file knows.
    appendFileSync(this.#file, `${JSON.stringify({ streamId, id, message })}\n`)
    return id
  }
}

/** The last line may have been cut by the end of the process. */
function linesOf(file: string): Line[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap(line => {
      try {
        return [JSON.parse(line) as Line]
      } catch {
        return []
      }
    })
}
