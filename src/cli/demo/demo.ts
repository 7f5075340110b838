import { integer, parse, UsageError } from '../args.ts'
import { DEMO_HELP } from '../help.ts'
import { LAYERS, type Layer } from '../options.ts'
import { grouped, painter, write } from '../terminal.ts'
import { FAULTS, type Fault } from './faults.ts'
import { LEAST_EVENTS } from './plan.ts'
import { Progress } from './progress.ts'
import { report } from './report.ts'
import { CLIENT, run, startServer } from './run.ts'
import { serve } from './serve.ts'
import { render } from './table.ts'

const OPTIONS = {
  events: { type: 'string' },
  seed: { type: 'string' },
  json: { type: 'boolean' },
  only: { type: 'string', multiple: true },
  without: { type: 'string', multiple: true },
  serve: { type: 'string' },
  help: { type: 'boolean' },
} as const

/** Columns of the narrowest terminal that is counted on, less one: a full line would wrap in some. */
const WIDTH = 79

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
  const faults = faultsLike(values.only)
  const port = integer('serve', values.serve, [0, 65_535], undefined)
  if (port !== undefined && (values.json || without.length > 0))
    throw new UsageError('--serve: goes with --events, --seed and --only alone')
  if (port !== undefined) return serve(events, seed, faults, port)
  return show(events, seed, faults, without, values.json === true)
}

function layerNamed(name: string): Layer {
  const layer = LAYERS.find(one => one === name)
  if (layer === undefined)
    throw new UsageError(`--without: ${JSON.stringify(name)} is not one of ${LAYERS.join(', ')}`)
  return layer
}

function faultsLike(texts: readonly string[] | undefined): readonly Fault[] {
  if (texts === undefined) return FAULTS
  for (const text of texts) {
    if (!FAULTS.some(({ name }) => name.includes(text)))
      throw new UsageError(`--only: ${JSON.stringify(text)} is in no name of a fault`)
  }
  return FAULTS.filter(({ name }) => texts.some(text => name.includes(text)))
}

async function show(
  events: number,
  seed: number,
  faults: readonly Fault[],
  without: readonly Layer[],
  json: boolean,
): Promise<number> {
  const { stdout } = process
  const paint = painter(stdout)
  const started = await startServer(events, seed, faults)
  await using _ = started.server
  if (!json) {
    await write(
      stdout,
      [
        paint(
          'bold',
          `${grouped(events)} events, ${faults.length} ${faults.length === 1 ? 'fault' : 'kinds of faults'}, seed ${seed}`,
        ),
        paint('dim', `server  ${started.server.url}, process ${started.server.pid}`),
        paint('dim', clientLines(without)),
        '',
      ].join('\n'),
    )
  }
  const progress = new Progress()
  const finished = await run(started, without, (state, told) => progress.update(state, told))
  progress.done()
  const result = await report(finished, without)
  await write(stdout, json ? `${JSON.stringify({ seed, ...result })}\n` : render(result, paint, stdout.rows))
  return result.ok ? 0 : 1
}

/** The client's options as one would write them, in lines that fit. */
function clientLines(without: readonly Layer[]): string {
  const on = Object.entries(CLIENT).filter(([name]) => !without.some(layer => layer === name))
  const options = [...on, ...without.map(layer => [layer, false] as const)]
  return options.reduce((text, [name, value], index) => {
    const spaced = JSON.stringify(value).replaceAll('"', '').replaceAll(':', ': ').replaceAll(',', ', ')
    const option = `${name}: ${spaced}`
    if (index === 0) return text + option
    const used = text.length - text.lastIndexOf('\n')
    return `${text},${used + option.length < WIDTH ? ' ' : '\n        '}${option}`
  }, 'client  ')
}
