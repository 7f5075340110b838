import { type ChildProcess, spawn } from 'node:child_process'
import { pathToFileURL } from 'node:url'

/** What the parent asks of the child, and what comes back. */
export interface RemoteCall {
  call: number
  method: string
  args: unknown[]
}
export type RemoteReply = { call: number; value?: unknown; error?: { name: string; message: string } }
/** First answer of the child: where it listens, and when its clock began. */
export interface RemoteStart {
  url: string
  port: number
  timeOrigin: number
}

const READY_MS = 10_000
const EXIT_MS = 5000

/** What runs in the child. */
export interface Tenant {
  /** For messages: `fault server`. */
  name: string
  /** The static method of an exported class that serves the parent. */
  serve: string
  /** Complains of a module that a child cannot run. */
  refuse: (url: string, allowed: string) => Error
}

/** A process of its own that answers calls over its IPC channel, and ends when it loses its parent. */
export class Remote {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #start: RemoteStart = { url: '', port: 0, timeOrigin: performance.timeOrigin }
  #call = 0

  private constructor(child: ChildProcess, name: string) {
    this.#child = child
    this.#name = name
    child.on('message', message => this.#answered(message as RemoteReply))
    child.once('exit', () => this.#lost(`the ${name}'s process ended (code ${child.exitCode})`))
    child.once('error', error => this.#lost(`the ${name}'s process could not be started: ${error.message}`))
    // A test that forgets close() must be able to end; the child ends when it loses its parent.
    child.unref()
    child.channel?.unref()
  }

  static async spawn(tenant: Tenant, modulePath: string | undefined, options: unknown): Promise<Remote> {
    const module = moduleUrl(modulePath, tenant)
    const child = spawn(process.execPath, ['--input-type=module', '--eval', entry(module, tenant)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const remote = new Remote(child, tenant.name)
    try {
      const timeout = rejectAfter(READY_MS, `the ${tenant.name}'s process was not ready after ${READY_MS} ms`)
      const started = remote.ask('start', options)
      remote.#start = (await Promise.race([started, timeout.promise]).finally(timeout.stop)) as RemoteStart
      return remote
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }

  get url(): string {
    return this.#start.url
  }

  get port(): number {
    return this.#start.port
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** A time of the child on this process's `performance.now()` scale. */
  here(at: number): number {
    return at + this.#start.timeOrigin - performance.timeOrigin
  }

  /** Ends the process, and with it everything it held. */
  async close(): Promise<void> {
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const gone = new Promise<void>(resolve => child.once('exit', () => resolve()))
    if (child.connected) child.disconnect()
    const late = setTimeout(() => child.kill('SIGKILL'), EXIT_MS)
    await gone
    clearTimeout(late)
  }

  ask(method: string, ...args: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (!this.#child.connected) {
        reject(new Error(`the ${this.#name}'s process has ended`))
        return
      }
      const call = ++this.#call
      this.#calls.set(call, { resolve, reject })
      this.#child.ref()
      this.#child.channel?.ref()
      const message: RemoteCall = { call, method, args }
      this.#child.send(message, error => {
        if (error !== null) this.#answered({ call, error })
      })
    })
  }

  #answered({ call, value, error }: RemoteReply): void {
    const waiting = this.#calls.get(call)
    if (waiting === undefined) return
    this.#calls.delete(call)
    if (this.#calls.size === 0) {
      this.#child.unref()
      this.#child.channel?.unref()
    }
    if (error === undefined) waiting.resolve(value)
    else waiting.reject(Object.assign(new Error(error.message), { name: error.name }))
  }

  #lost(message: string): void {
    for (const call of [...this.#calls.keys()]) this.#answered({ call, error: { name: 'Error', message } })
  }
}

// Found by what it can do, not by name: a bundler may have moved it to a chunk and called it something else there.
const entry = (
  module: string,
  { name, serve }: Tenant,
) => `const module = await import(${JSON.stringify(module)})
const all = [module, module.default].flatMap(one => Object.values(one ?? {}))
const Served = all.find(one => typeof one === 'function' && typeof one.${serve} === 'function')
if (Served === undefined) throw new Error(${JSON.stringify(`no ${name} in ${module}`)})
Served.${serve}()`

function moduleUrl(given: string | undefined, tenant: Tenant): string {
  // The CommonJS build has no import.meta.url and the ES module no __filename.
  const own = typeof __filename === 'string' ? pathToFileURL(__filename).href : import.meta.url
  const url = given === undefined ? own : given.startsWith('file:') ? given : pathToFileURL(given).href
  if (/\.[cm]?tsx?$/.test(url))
    throw tenant.refuse(url, 'a built module such as dist/testing.js: a child runs no TypeScript')
  return url
}

function rejectAfter(ms: number, message: string): { promise: Promise<never>; stop: () => void } {
  let stop = () => {}
  const promise = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error(message)), ms)
    stop = () => clearTimeout(timer)
  })
  return { promise, stop }
}
