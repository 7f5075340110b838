import type { Cell } from '../../measure/cell.ts'
import { message, NoResult, start, stop } from '../../measure/processes.ts'
import { quantile } from '../../measure/rounds.ts'
import type { StreamAccount } from './client.process.ts'
import type { CycleFigures } from './cycle.ts'
import { CYCLES, idOf, numberOf, STREAMS } from './stream.ts'

export interface KindOfBreak {
  name: string
  cycles: number
  dials: number
  /** Median and p99, in milliseconds. */
  rawMs: [number, number]
  addedMs: [number, number]
  tookMs: [number, number]
}

export interface CyclesResults {
  total: number
  /** Resumed from exactly the last event received. */
  right: number
  lost: number
  doubled: number
  altered: number
  /** Not in the figures: a process was starved of the processor meanwhile. */
  disturbed: number
  /** p99 of how far two bare fetches differed side by side. */
  noiseMs: number
  kinds: KindOfBreak[]
}

const LIMIT_MS = 180_000

export const CYCLES_CELL: Cell<CyclesResults> = {
  name: 'recovery/cycles',
  title: `what a recovery adds: ${STREAMS} streams, broken ${CYCLES} times each`,
  byDefault: true,
  async run({ quick }) {
    const cycles = quick ? 10 : CYCLES
    const server = start('recovery/cycles/server', {})
    const { port } = await message<{ port: number }>(server, 10_000)
    const relay = start('recovery/cycles/relay', { target: `http://127.0.0.1:${port}` })
    const { urls } = await message<{ urls: string[] }>(relay, 10_000)
    const client = start('recovery/cycles/client', { urls, cycles })
    const limit = setTimeout(() => client.kill(), LIMIT_MS)
    try {
      const accounts = await new Promise<StreamAccount[]>((resolve, reject) => {
        client.on('message', (told: { accounts: StreamAccount[] } | { fault: object }) => {
          if ('accounts' in told) resolve(told.accounts)
          else relay.send(told)
        })
        client.once('exit', () => reject(new NoResult(`not done after ${LIMIT_MS / 1_000} s`)))
      })
      server.send('resumed')
      return summary(accounts, await message<Map<number, string[]>>(server, 10_000))
    } finally {
      clearTimeout(limit)
      await Promise.all([client, relay, server].map(stop))
    }
  },
}

function summary(accounts: StreamAccount[], resumed: Map<number, string[]>): CyclesResults {
  const all = accounts.flatMap(({ cycles }) => cycles)
  const calm = all.filter(({ disturbed }) => !disturbed)
  const sum = (of: (account: StreamAccount) => number) => accounts.reduce((n, one) => n + of(one), 0)
  const names = [...new Set(calm.map(({ name }) => name))].sort()
  return {
    total: all.length,
    right: accounts.reduce(
      (n, { cycles }, stream) => n + right(stream, cycles, resumed.get(stream) ?? []),
      0,
    ),
    lost: sum(({ lost }) => lost),
    doubled: sum(({ doubled }) => doubled),
    altered: sum(({ altered }) => altered),
    disturbed: all.length - calm.length,
    noiseMs: quantile(
      calm.map(({ noiseMs }) => noiseMs),
      0.99,
    ),
    kinds: [
      kind('all', calm),
      ...names.map(name =>
        kind(
          name,
          calm.filter(cycle => cycle.name === name),
        ),
      ),
    ],
  }
}

/** Compares what the server was asked for with what had been received. */
function right(stream: number, cycles: CycleFigures[], asked: string[]): number {
  let from = 1
  let count = 0
  for (const { received, first } of cycles) {
    const found = asked.indexOf(received, from)
    if (found === -1 || first !== idOf(stream, numberOf(received) + 1)) continue
    from = found + 1
    count++
  }
  return count
}

function kind(name: string, some: CycleFigures[]): KindOfBreak {
  const of = (figure: 'rawMs' | 'addedMs' | 'tookMs'): [number, number] => {
    const values = some.map(cycle => cycle[figure])
    return [quantile(values, 0.5), quantile(values, 0.99)]
  }
  return {
    name,
    cycles: some.length,
    dials: some.reduce((sum, { dials }) => sum + dials, 0),
    rawMs: of('rawMs'),
    addedMs: of('addedMs'),
    tookMs: of('tookMs'),
  }
}
