import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** A program that runs as long as a test needs it. */
export class Child implements AsyncDisposable {
  /** What it has written so far. */
  output = ''
  readonly #process: ChildProcess

  constructor(command: string, args: readonly string[], env: Record<string, string> = {}) {
    this.#process = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const output of [this.#process.stdout, this.#process.stderr])
      output?.on('data', text => {
        this.output += text
      })
    this.#process.on('error', error => {
      this.output += error.message
    })
  }

  /** Returns what `ready` finds, as soon as it finds something. */
  async until<Found>(ready: () => Found | undefined | Promise<Found | undefined>): Promise<Found> {
    for (let waited = 0; waited < 20_000; waited += 20) {
      const found = await ready()
      if (found) return found
      if (this.#isOver) break
      await sleep(20)
    }
    throw new Error(`${this.#process.spawnargs.join(' ')} did not get ready:\n${this.output}`)
  }

  /** Resolves when it has ended by itself, with all that it has written to its output. */
  async ended(): Promise<string> {
    if (!this.#isOver) await once(this.#process, 'close')
    if (this.#process.exitCode !== 0) throw new Error(this.output)
    return this.output
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return
    const closed = once(this.#process, 'close')
    this.#process.kill('SIGKILL')
    await closed
  }

  get #isOver(): boolean {
    const { pid, exitCode, signalCode } = this.#process
    return pid === undefined || exitCode !== null || signalCode !== null
  }
}
