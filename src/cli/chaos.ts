import {
  type ChaosFault,
  ChaosOptionError,
  type ChaosRecord,
  type ChaosRelay,
  chaosRelay,
} from '../testing/index.ts'
import { integer, parse, UsageError } from './args.ts'
import { CHAOS_HELP, DEFAULT_FAULTS } from './chaos-help.ts'
import { grouped, harmlessLine, write } from './terminal.ts'

const OPTIONS = {
  port: { type: 'string' },
  host: { type: 'string' },
  faults: { type: 'string' },
  seed: { type: 'string' },
  rounds: { type: 'string' },
  help: { type: 'boolean' },
} as const

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const
const RANGE = /^(\d+)\.\.(\d+)$/

/** `resilient-sse chaos TARGET`: a chaos relay until Ctrl-C; resolves with the exit code. */
export async function chaos(args: string[]): Promise<number> {
  const { values, positionals } = parse({ args, options: OPTIONS, allowPositionals: true })
  if (values.help) {
    await write(process.stdout, CHAOS_HELP)
    return 0
  }
  const [target, extra] = positionals
  if (target === undefined) throw new UsageError('chaos: the target is missing, a URL or host:port')
  if (extra !== undefined)
    throw new UsageError(`chaos: one target only: ${JSON.stringify(extra)} is too much`)
  const seed = integer('seed', values.seed, [0, 2 ** 32 - 1], 1)
  const rounds = integer('rounds', values.rounds, [0, 1_000_000], Number.POSITIVE_INFINITY)
  const port = integer('port', values.port, [0, 65_535], 0)
  const faults = (values.faults ?? DEFAULT_FAULTS).split(',').map(faultOf)

  let stop = (_code: number) => {}
  const stopped = new Promise<number>(resolve => {
    stop = resolve
  })
  for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => stop(code))
  // Nobody reads what we did any more: the end, as for any other command in a pipe.
  const say = (text: string) => write(process.stdout, text).catch(() => stop(0))

  let relay: ChaosRelay
  try {
    relay = await chaosRelay({
      target,
      faults,
      seed,
      rounds,
      port,
      host: values.host ?? '127.0.0.1',
      onStrike: record => say(`${clock()}  ${told(record)}\n`),
    })
  } catch (error) {
    if (error instanceof ChaosOptionError) throw new UsageError(asTyped(error, values.faults))
    process.stderr.write(`resilient-sse: ${harmlessLine((error as Error).message)}\n`)
    return 1
  }
  await say([relay.url, harmlessLine(`before ${target}, seed ${seed}. Ctrl-C ends it.`), '', ''].join('\n'))
  const code = await stopped
  await relay.close()
  return code
}

/** `stall:ms=100..500:times=2` as data; what it may be is the relay's to judge. */
function faultOf(text: string): ChaosFault {
  const [name = '', ...fields] = text.trim().split(':')
  const pairs = fields.map(field => {
    const [key = '', value = ''] = field.split('=', 2)
    const range = RANGE.exec(value)
    if (range !== null) return [key, [Number(range[1]), Number(range[2])]]
    return [key, /^\d+(\.\d+)?$/.test(value) ? Number(value) : value]
  })
  return { do: name, ...Object.fromEntries(pairs) } as ChaosFault
}

/** The relay's complaint, with the fault as it was typed in place of its index. */
function asTyped({ message }: ChaosOptionError, faults = DEFAULT_FAULTS): string {
  const found = /^faults\[(\d+)\]\.?/.exec(message)
  if (found === null) return `--${message}`
  const typed = faults.split(',')[Number(found[1])]?.trim() ?? ''
  return `--faults: ${JSON.stringify(typed)}: ${message.slice(found[0].length)}`
}

const clock = () => new Date().toISOString().slice(11, 23)

function told({ fault, connection, detail, bytesDown }: ChaosRecord): string {
  const what = detail === undefined ? fault : `${fault}, ${detail}`
  if (connection === undefined) return what
  return `connection ${connection + 1}, after ${grouped(bytesDown)} bytes: ${what}`
}
