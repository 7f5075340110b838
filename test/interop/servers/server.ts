import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort, isListening } from '../ports.ts'

export const EXAMPLES = fileURLToPath(new URL('../../../docs/examples/servers', import.meta.url))
/** Where the examples run: below the package that has the frameworks. */
export const WORK = fileURLToPath(new URL('.tmp', import.meta.url))

export interface Logged {
  id: string
  data: string
}

interface FeedOptions {
  maxEvents?: number
  maxChars?: number
  heartbeatMs?: number
  retryMs?: number
  endMs?: number
}

let journals = 0

/** An example, run by Node in a process of its own, on a port that stays the same when it is started again. */
export class ExampleServer {
  readonly port: number
  readonly #name: string
  readonly #feed: FeedOptions & { file: string }
  #child: ChildProcess | undefined
  #output = ''

  private constructor(name: string, port: number, feed: FeedOptions) {
    this.#name = name
    this.port = port
    this.#feed = { ...feed, file: `${WORK}/${name}-${process.pid}-${journals++}.journal` }
  }

  static async start(name: string, feed: FeedOptions = {}): Promise<ExampleServer> {
    const server = new ExampleServer(name, await freePort(), feed)
    await server.start()
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/events`
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [`${WORK}/examples/${this.#name}.mjs`], {
      env: { ...process.env, PORT: String(this.port), FEED: JSON.stringify(this.#feed) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    for (const output of [child.stdout, child.stderr]) {
      output.on('data', text => {
        this.#output += text
      })
    }
    while (!(await isListening(this.port))) {
      if (child.exitCode !== null) throw new Error(`${this.#name} did not start:\n${this.#output}`)
      await sleep(50)
    }
  }

  /** Resolves when the process is gone, with its exit code or the signal that ended it. */
  async kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | string | null> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return child?.exitCode ?? null
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code, endedBy] = await exited
    return code ?? endedBy
  }

  /** What the process has written; nothing, if all is well. */
  get output(): string {
    return this.#output
  }

  /** @returns the id that the server gave it. */
  async publish(data: string): Promise<string> {
    const response = await fetch(this.url, { method: 'POST', body: data })
    if (response.status !== 202) throw new Error(`${response.status}: ${await response.text()}`)
    return ((await response.json()) as { id: string }).id
  }

  /** Its own log: all that it has ever published, as long as nothing was evicted. */
  log(): Logged[] {
    const [head = '', ...lines] = readFileSync(this.#feed.file, 'utf8').trimEnd().split('\n')
    const { epoch } = JSON.parse(head)
    return lines.map(line => {
      const { seq, data } = JSON.parse(line)
      return { id: `${epoch}-${seq}`, data }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGKILL')
  }
}

/** Publishes numbered events, one every few milliseconds, until it is stopped; a server that is down misses its turn. */
export function publishSteadily(server: ExampleServer): () => Promise<void> {
  let stopped = false
  const publishing = (async () => {
    for (let number = 1; !stopped; number++) {
      await server.publish(`number ${number}\n{"euro": "€"}`).catch(() => {})
      await sleep(15)
    }
  })()
  return () => {
    stopped = true
    return publishing
  }
}
