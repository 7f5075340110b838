import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A round that took too long, or a process that ended without a result: written down as such, never as a time. */
export class NoResult extends Error {
  override name = 'NoResult'
}

export interface ProcessOptions {
  /** Another Node than the running one. */
  execPath?: string
  execArgv?: string[]
}

// This module ends up in dist/ or in a chunk beside it, so that names are relative to there.
const DIST = new URL('./', import.meta.url)

/**
 * Starts `<name>.process.ts` with one argument, as JSON. It has to end with its parent, and must not end before: libraries
 * that let go of their timers would have it end during a wait; `process.once('disconnect', …)` does both.
 */
export function start(
  name: string,
  order: unknown,
  { execArgv = [], ...options }: ProcessOptions = {},
): ChildProcess {
  const child = fork(fileURLToPath(new URL(`${name}.process.js`, DIST)), [JSON.stringify(order)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
    // That undici's EventSource is experimental need not be said in every round.
    execArgv: ['--disable-warning=UNDICI-ES', ...execArgv],
    ...options,
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** The next message of a process. After `limitMs` without one it is ended. */
export async function message<Message>(child: ChildProcess, limitMs: number): Promise<Message> {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), limitMs)
  try {
    const { signal } = limit
    const exit = once(child, 'exit', { signal }).then(([code]) => {
      throw new NoResult(`ended without a result (${code})`)
    })
    exit.catch(() => {})
    const [received] = await Promise.race([once(child, 'message', { signal }), exit])
    return received as Message
  } catch (error) {
    if (!limit.signal.aborted) throw error
    throw new NoResult(`not done after ${limitMs / 1_000} s`)
  } finally {
    clearTimeout(timer)
    limit.abort()
  }
}

/** Ends a process and waits until it is gone. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** One process for one answer. */
export async function ask<Answer>(
  name: string,
  order: unknown,
  { limitMs, ...options }: ProcessOptions & { limitMs: number },
): Promise<Answer> {
  const child = start(name, order, options)
  try {
    return await message<Answer>(child, limitMs)
  } finally {
    await stop(child)
  }
}

const running = new Set<ChildProcess>()

/** Nothing is left behind when the run is interrupted. */
export function stopAll(): void {
  for (const child of running) child.kill('SIGKILL')
}
