import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

export interface Result {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** The built command in a process of its own. */
export class Cli {
  stdout = ''
  stderr = ''
  readonly done: Promise<Result>
  readonly child: ChildProcess
  readonly #watchers = new Set<() => void>()

  constructor(args: string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(process.execPath, [COMMAND, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: undefined, ...env },
    })
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text
        for (const watcher of [...this.#watchers]) watcher()
      })
    }
    this.done = new Promise(resolve => {
      this.child.once('close', (code, signal) =>
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr }),
      )
    })
  }

  /** Resolves when the condition holds, looked at after each piece of output. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const watcher = () => {
        if (!condition()) return
        this.#watchers.delete(watcher)
        resolve()
      }
      this.#watchers.add(watcher)
      this.done.then(() => reject(new Error(`it ended first: ${this.stderr}`)))
      watcher()
    })
  }

  kill(signal: NodeJS.Signals): Promise<Result> {
    this.child.kill(signal)
    return this.done
  }
}

/** Runs it to its end. */
export const cli = (...args: string[]): Promise<Result> => new Cli(args).done

/** Whether the text has anything but printable characters and newlines. */
export const hasControls = (text: string): boolean => /[^\n\P{Cc}]/u.test(text)
