import { integer, parse, UsageError } from '../args.ts'
import { DEMO_HELP } from '../help.ts'
import { grouped, painter, write } from '../terminal.ts'
import { FAULTS } from './faults.ts'
import { LEAST_EVENTS } from './plan.ts'
import { Progress } from './progress.ts'
import { report } from './report.ts'
import { CLIENT, type Layer, run, startServer } from './run.ts'
import { serve } from './serve.ts'
import { render } from './table.ts'

const OPTIONS = {
  events: { type: 'string' },
  seed: { type: 'string' },
  json: { type: 'boolean' },
  without: { type: 'string', multiple: true },
  serve: { type: 'string' },
  help: { type: 'boolean' },
} as const

const LAYERS: readonly Layer[] = ['tcp', 'heartbeat', 'resume', 'backoff', 'breaker', 'dedupe']

/** `resilient-sse demo`; resolves with the exit code. */
export async function demo(args: string[]): Promise<number> {
  const { values, positionals } = parse({ args, options: OPTIONS, allowPositionals: true })
  if (values.help) {
    await write(process.stdout, DEMO_HELP)
    return 0
  }
  if (positionals[0] !== undefined)
    throw new UsageError(`demo takes options only: ${JSON.stringify(positionals[0])} is too much`)
  const events = integer('events', values.events, [LEAST_EVENTS, 1_000_000], 10_000)
  const seed = integer('seed', values.seed, [0, 2 ** 32 - 1], 1)
  const without = (values.without ?? []).map(layerNamed)
  const port = integer('serve', values.serve, [0, 65_535], undefined)
  if (port !== undefined && (values.json || without.length > 0))
    throw new UsageError(`--serve: goes with --events and --seed only`)
  if (port !== undefined) return serve(events, seed, port)
  return show(events, seed, without, values.json === true)
}

function layerNamed(name: string): Layer {
  const layer = LAYERS.find(one => one === name)
  if (layer === undefined)
    throw new UsageError(`--without: ${JSON.stringify(name)} is not one of ${LAYERS.join(', ')}`)
  return layer
}

async function show(events: number, seed: number, without: Layer[], json: boolean): Promise<number> {
  const { stdout } = process
  const paint = painter(stdout)
  const started = await startServer(events, seed)
  await using _ = started.server
  if (!json) {
    const options = JSON.stringify(CLIENT).replaceAll('"', '').replaceAll(':', ': ').replaceAll(',', ', ')
    const off = without.map(layer => `, ${layer}: false`).join('')
    await write(
      stdout,
      [
        paint('bold', `${grouped(events)} events, ${FAULTS.length} kinds of faults, seed ${seed}`),
        paint('dim', `server  ${started.server.url}, process ${started.server.pid}`),
        paint('dim', `client  ${options.slice(1, -1)}${off}`),
        '',
      ].join('\n'),
    )
  }
  const progress = new Progress()
  const finished = await run(started, without, (state, told) => progress.update(state, told))
  progress.done()
  const result = await report(finished, without)
  await write(stdout, json ? `${JSON.stringify({ seed, ...result })}\n` : render(result, paint))
  return result.ok ? 0 : 1
}
