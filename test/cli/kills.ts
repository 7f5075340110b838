import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cut, FaultServer, rest, send, stay } from 'resilient-sse/testing'
import { seeded } from '../random.ts'
import { Cli } from './cli.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const

/** What came of the runs that ended with one signal. */
export interface Toll {
  runs: number
  events: number
  /** Events that the next run printed again, whole ones only. */
  repeated: number
  /** The most that one run repeated. */
  mostRepeated: number
  lost: number
  /** Lines that the kill has torn: their event was in hand, and must come again. */
  torn: number
  /** Runs that were over before their first event. */
  early: number
}

/** The events of all runs as one reader of their output has them, against the server's log. */
class Account {
  readonly tolls = new Map<string, Toll>(
    SIGNALS.map(signal => [
      signal,
      { runs: 0, events: 0, repeated: 0, mostRepeated: 0, lost: 0, torn: 0, early: 0 },
    ]),
  )
  readonly #server: FaultServer
  /** Index of the event that is due. */
  #due = 0

  constructor(server: FaultServer) {
    this.#server = server
  }

  /** What a run printed is judged by how the run before it ended. */
  take(stdout: string, endedBefore: string | undefined, endedBy: string): void {
    const lines = stdout.split('\n')
    const torn = lines.pop() !== ''
    const toll = this.tolls.get(endedBy) as Toll
    toll.runs++
    toll.events += lines.length
    if (torn) toll.torn++
    if (lines.length === 0) toll.early++
    const before = this.tolls.get(endedBefore ?? endedBy) as Toll
    let repeated = 0
    for (const line of lines) {
      const event = JSON.parse(line)
      const index = this.#server.log.indexOfId(event.id)
      if (event.data !== this.#server.log.at(index).data) throw new Error(`altered: ${line}`)
      if (index < this.#due) repeated++
      else before.lost += index - this.#due
      this.#due = Math.max(this.#due, index + 1)
    }
    before.repeated += repeated
    before.mostRepeated = Math.max(before.mostRepeated, repeated)
  }
}

/**
 * Follows one stream with `--cursor FILE --json` in so many runs. Each is ended by Ctrl-C, `kill` or `kill -9` in turn, at
 * a seeded moment: some while it starts, some in the middle of the events, some while it reconnects.
 */
export async function kills(times: number, seed: number): Promise<Map<string, Toll>> {
  const random = seeded(seed)
  const folder = await mkdtemp(join(tmpdir(), 'resilient-sse-kills-'))
  await using server = await FaultServer.start({
    // Large ones are torn more easily.
    log: { count: 100_000, seed, bytes: [50, 5_000] },
    // The third connection is broken after a while, and so on, so that saves and reconnects meet.
    script: Array.from({ length: 2 * times }, (_, n) => (n % 3 === 2 ? [send(20), cut()] : [rest(), stay()])),
    otherwise: [rest(), stay()],
  })
  const account = new Account(server)
  try {
    let before: string | undefined
    for (let n = 0; n < times; n++) {
      const signal = SIGNALS[n % SIGNALS.length] as (typeof SIGNALS)[number]
      const run = new Cli([
        server.url,
        '--cursor',
        join(folder, 'cursor'),
        '--json',
        '--backoff-base',
        '0.01',
      ])
      // A tenth of them ends while starting; there no listener may be there yet, and the signal itself ends it.
      if (random() < 0.1) await sleep(400 * random())
      else {
        const count = 1 + Math.floor(60 * random())
        await run.until(() => run.stdout.split('\n').length > count)
        await sleep(4 * random())
      }
      const { code, signal: killedBy, stdout, stderr } = await run.kill(signal)
      if (code !== (signal === 'SIGINT' ? 130 : 143) && killedBy !== signal)
        throw new Error(`run ${n + 1}, ${signal}: exit code ${code}: ${stderr}`)
      account.take(stdout, before, signal)
      before = signal
    }
    // What the last one lost or repeats shows in a run after it.
    const run = new Cli([server.url, '--cursor', join(folder, 'cursor'), '--json', '--max', '3'])
    account.take((await run.done).stdout, before, 'SIGINT')
    const last = account.tolls.get('SIGINT') as Toll
    last.runs--
    last.events -= 3
    return account.tolls
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** One line for each signal. */
export function reportOf(tolls: Map<string, Toll>): string {
  return [...tolls]
    .map(
      ([signal, toll]) =>
        `${signal.padEnd(7)} ${toll.runs} runs, ${toll.events} events: ${toll.lost} lost, ${toll.repeated} repeated (at most ${toll.mostRepeated} by a run), ${toll.torn} lines torn, ${toll.early} ended before their first event`,
    )
    .join('\n')
}
