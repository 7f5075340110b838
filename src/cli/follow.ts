import { readFileSync } from 'node:fs'
import { ResilientSse, type ResilientSseOptions, SseError } from '../index.ts'
import { integer, parse, seconds, UsageError } from './args.ts'
import { cursorFile } from './cursor.ts'
import { Ending } from './ending.ts'
import { HELP } from './help.ts'
import { named, STREAM_OPTIONS, streamOptions, type Values } from './options.ts'
import { Output } from './output.ts'
import { isBrokenPipe, write } from './terminal.ts'

/** All options of `resilient-sse URL`, for parseArgs. */
export const OPTIONS = {
  ...STREAM_OPTIONS,
  json: { type: 'boolean' },
  event: { type: 'string' },
  max: { type: 'string' },
  timeout: { type: 'string' },
  stats: { type: 'boolean' },
  'stats-every': { type: 'string' },
  quiet: { type: 'boolean' },
  help: { type: 'boolean' },
  version: { type: 'boolean' },
} as const

const DAY_S = 86_400
const STATS_EVERY_MS = 10_000

/** `resilient-sse URL`: prints a stream until it ends; resolves with the exit code. */
export async function follow(args: string[]): Promise<number> {
  const { values, positionals } = parse({ args, options: OPTIONS, allowPositionals: true })
  if (values.help || values.version) {
    await write(process.stdout, values.help ? HELP : `${version()}\n`)
    return 0
  }
  const [url, extra] = positionals
  if (url === undefined) throw new UsageError('a URL is missing')
  if (extra !== undefined) throw new UsageError(`one URL only: ${JSON.stringify(extra)} is too much`)
  const max = integer('max', values.max, [1, Number.MAX_SAFE_INTEGER], Number.POSITIVE_INFINITY)
  const timeoutMs = seconds('timeout', values.timeout, DAY_S)
  const output = outputOf(values)
  const { stream, saved } = streamOf(url, values, output.tell)
  const wanted = values.event

  const ending = new Ending(stream, timeoutMs)
  output.start(stream)
  let stuck = false
  try {
    let printed = 0
    for await (const event of stream) {
      if (wanted === undefined || wanted === (event.event ?? 'message')) {
        stuck = !(await ending.waitsFor(output.print(event)))
        if (stuck) break
        printed++
      }
      if (saved !== undefined) {
        stream.ack(event)
        await saved()
      }
      if (printed >= max) break
    }
    await ending.closed
    output.end()
    // Nobody reads stdout: what waits there would keep the process alive. The event in hand will be repeated.
    if (stuck) process.exit(ending.code)
    return ending.code
  } catch (error) {
    await stream.close().catch(() => {})
    if (isBrokenPipe(error)) return 0
    if (!(error instanceof SseError)) throw error
    output.fail(`${error.message} (${error.code})`)
    return 1
  } finally {
    output.end()
    ending.dispose()
  }
}

function outputOf(values: Values): Output {
  if (values['stats-every'] !== undefined && !values.stats)
    throw new UsageError('--stats-every: has no effect without --stats')
  return new Output({
    json: values.json === true,
    quiet: values.quiet === true,
    stats: values.stats === true,
    statsEveryMs:
      seconds('stats-every', values['stats-every'] as string | undefined, DAY_S) ?? STATS_EVERY_MS,
  })
}

/** The stream, and with --cursor a function that resolves when everything acknowledged so far is on disk. */
function streamOf(
  url: string,
  values: Values,
  onLifecycle: ResilientSseOptions['onLifecycle'] & {},
): { stream: ResilientSse; saved: (() => Promise<void>) | undefined } {
  const options: ResilientSseOptions = { ...streamOptions(values), onLifecycle }
  const { cursor } = values
  if (cursor === undefined)
    return { stream: named(() => new ResilientSse(url, options), values), saved: undefined }
  const file = named(() => cursorFile(cursor as string), values)
  options.resume = { ...(options.resume || {}), store: file.store, ack: 'manual' }
  return { stream: named(() => new ResilientSse(url, options), values), saved: () => file.saved() }
}

function version(): string {
  const path = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}
