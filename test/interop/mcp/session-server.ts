import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Line } from './clients.ts'

const SCRIPT = fileURLToPath(new URL('session-server.mjs', import.meta.url))

export interface ServerSettings {
  stateless?: boolean
  /** Answers with JSON in place of streams. */
  json?: boolean
  version?: string
  /** Declares prompts. */
  prompts?: boolean
}

/** A server of an SDK, in a process of its own that can be killed and started again on its port. */
export class SessionServer implements AsyncDisposable {
  readonly #line: Line
  readonly #folder = mkdtempSync(join(tmpdir(), 'mcp-sessions-'))
  #child: ChildProcess | undefined
  #port = 0

  private constructor(line: Line) {
    this.#line = line
  }

  static async start(line: Line, settings: ServerSettings = {}): Promise<SessionServer> {
    const server = new SessionServer(line)
    await server.start(settings)
    return server
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${this.#port}/mcp`)
  }

  /** What the server has carried out, in all its lives. */
  get done(): string[] {
    return existsSync(this.#log) ? readFileSync(this.#log, 'utf8').split('\n').slice(0, -1) : []
  }

  count(what: string): number {
    return this.done.filter(line => line === what).length
  }

  async start(settings: ServerSettings = {}): Promise<void> {
    const given = Object.entries(settings).flatMap(([name, value]) => (value ? `${name}=${value}` : []))
    this.#child = fork(SCRIPT, [this.#line, String(this.#port), this.#log, ...given])
    const [{ port }] = (await once(this.#child, 'message')) as [{ port: number }]
    this.#port = port
  }

  async kill(): Promise<void> {
    const child = this.#child as ChildProcess
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** Its sessions are gone, and it lives on. */
  async forget(): Promise<void> {
    const child = this.#child as ChildProcess
    child.send('forget')
    await once(child, 'message')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true })
  }

  get #log(): string {
    return join(this.#folder, 'done')
  }
}
