import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { CELLS } from './cells.ts'
import type { Cell, RunOptions, Saved } from './measure/cell.ts'
import { environment } from './measure/environment.ts'
import { newest } from './measure/node.ts'
import { stopAll } from './measure/processes.ts'
import { type Benchmarks, load, save } from './measure/store.ts'
import { tableOf } from './report/tables.ts'

const USAGE = `npm run bench                      the cells of bench/cells.ts that are there by default, at most 20 minutes
npm run bench -- --full            all of them
npm run bench -- NAME…             one cell (throughput/utf-8) or one group (throughput): told, and saved with --save
npm run bench -- --rounds N        how often each client is measured
npm run bench -- --quick           a small part of the work, to see that it runs; never saved
npm run bench -- --report          page and charts again from docs/benchmarks.json
npm run bench -- --list            the names`

// From bench/dist.
const FILE = fileURLToPath(new URL('../../docs/benchmarks.json', import.meta.url))

/** The exit code. */
export async function main(args: string[]): Promise<number> {
  const { values, positionals: names } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      full: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      report: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return told(USAGE)
  if (values.list) return told(CELLS.map(({ name, title }) => `${name.padEnd(32)}${title}`).join('\n'))
  const unknown = names.find(name => !CELLS.some(cell => isNamed(cell, name)))
  if (unknown !== undefined) return told(`bench: no cell ${unknown}\n\n${USAGE}`, 2)
  const { report } = await import('./report/files.ts')
  if (values.report) {
    report(load(FILE))
    return 0
  }

  const chosen = CELLS.filter(cell =>
    names.length > 0 ? names.some(name => isNamed(cell, name)) : values.full || cell.byDefault,
  )
  const saving = !values.quick && (names.length === 0 || values.save)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stopAll()
      process.exit(130)
    })
  }
  const options: RunOptions = {
    quick: values.quick,
    ...(values.rounds !== undefined && { rounds: Number(values.rounds) }),
  }
  let code = 0
  const startedAt = performance.now()
  for (const cell of chosen) {
    const measured = await measure(cell, options).catch(toldFailure)
    if (measured === undefined) {
      code = 1
      continue
    }
    console.log(tableOf(cell.name, measured))
    // Each cell when it ends: an interrupted run loses the cell at hand alone.
    if (!saving) continue
    save(FILE, inOrder({ ...load(FILE), [cell.name]: measured }))
    report(load(FILE))
  }
  console.log(`\n${chosen.length} cells in ${((performance.now() - startedAt) / 60_000).toFixed(1)} minutes`)
  return code
}

async function measure(cell: Cell, options: RunOptions): Promise<Saved> {
  const load = loadavg()[0] ?? 0
  const startedAt = performance.now()
  console.log(`\n${cell.name}: ${cell.title}`)
  const results = await cell.run(options)
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  const node = cell.node === 'newest' ? newest().version : process.versions.node
  const date = new Date().toISOString().slice(0, 16)
  return { title: cell.title, date, seconds, load, ...environment(), node, results }
}

/** In the order of bench/cells.ts, whenever each was measured. */
function inOrder(benchmarks: Benchmarks): Benchmarks {
  const place = (name: string) => CELLS.findIndex(cell => cell.name === name)
  return Object.fromEntries(Object.entries(benchmarks).sort(([a], [b]) => place(a) - place(b)))
}

const isNamed = ({ name }: Cell, wanted: string) => name === wanted || name.startsWith(`${wanted}/`)

function told(text: string, code = 0): number {
  console.log(text)
  return code
}

/** One cell that cannot be measured must not cost the others theirs. */
function toldFailure(error: unknown): undefined {
  console.error(error)
}
