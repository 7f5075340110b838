import { readFileSync } from 'node:fs'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { ResilientSse, type ResilientSseOptions, SseError, type SseEvent } from '../index.ts'
import { integer, parse, seconds, UsageError } from './args.ts'
import { cursorFile } from './cursor.ts'
import { HELP } from './help.ts'
import { describe } from './status.ts'
import { harmless, harmlessLine, isBrokenPipe, painter, write } from './terminal.ts'

const OPTIONS = {
  header: { type: 'string', multiple: true },
  method: { type: 'string' },
  data: { type: 'string' },
  'last-event-id': { type: 'string' },
  cursor: { type: 'string' },
  json: { type: 'boolean' },
  event: { type: 'string' },
  max: { type: 'string' },
  timeout: { type: 'string' },
  heartbeat: { type: 'string' },
  proxy: { type: 'string' },
  quiet: { type: 'boolean' },
  help: { type: 'boolean' },
  version: { type: 'boolean' },
} as const

const DAY_S = 86_400

/** What `timeout(1)` exits with. */
const TIMED_OUT = 124
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

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
  const wanted = values.event
  const asTyped = request(values)
  const cursor = values.cursor === undefined ? undefined : named(() => cursorFile(values.cursor ?? ''))
  const options: LooseOptions = {
    ...asTyped,
    onLifecycle: values.quiet ? undefined : tell,
    heartbeat: { timeoutMs: seconds('heartbeat', values.heartbeat, DAY_S) },
    tcp: { proxy: values.proxy },
    resume: {
      lastEventId: values['last-event-id'],
      ...(cursor === undefined ? {} : { store: cursor.store, ack: 'manual' }),
    },
  }
  // An option that is undefined counts as not given.
  const stream = named(() => new ResilientSse(url, options as ResilientSseOptions))
  const print = printer(values.json === true)

  const ending = new Ending(stream, timeoutMs)
  try {
    let printed = 0
    for await (const event of stream) {
      if (wanted === undefined || wanted === (event.event ?? 'message')) {
        await print(event)
        printed++
      }
      if (cursor !== undefined) {
        stream.ack(event)
        await cursor.saved()
      }
      if (printed >= max) break
    }
    await ending.closed
    return ending.code
  } catch (error) {
    await stream.close().catch(() => {})
    if (isBrokenPipe(error)) return 0
    if (!(error instanceof SseError)) throw error
    const paint = painter(process.stderr)
    process.stderr.write(`${paint('red', harmlessLine(`resilient-sse: ${error.message} (${error.code})`))}\n`)
    return 1
  } finally {
    ending.dispose()
  }
}

/** Ends the stream when somebody else than the server wants it to; `code` is what to exit with. */
class Ending {
  code = 0
  closed: Promise<void> = Promise.resolve()
  readonly #stop: (() => void)[] = []

  constructor(stream: ResilientSse, timeoutMs: number | undefined) {
    const end = (code: number) => {
      this.code = code
      this.closed = stream.close()
      // Awaited after the loop; until then nobody may be there to hear of a failed save.
      this.closed.catch(() => {})
    }
    for (const [signal, code] of Object.entries(SIGNALS)) {
      const onSignal = () => end(code)
      // Once: a second Ctrl-C ends the process the hard way, should the first one be stuck.
      process.once(signal, onSignal)
      this.#stop.push(() => process.off(signal, onSignal))
    }
    if (timeoutMs === undefined) return
    const timer = setTimeout(() => end(TIMED_OUT), timeoutMs)
    this.#stop.push(() => clearTimeout(timer))
  }

  dispose(): void {
    for (const stop of this.#stop) stop()
  }
}

type Loose<Options> = { [Key in keyof Options]?: Options[Key] | undefined }
type LooseOptions = Omit<Loose<ResilientSseOptions>, 'heartbeat' | 'tcp' | 'resume'> & {
  heartbeat: { timeoutMs: number | undefined }
  tcp: { proxy: string | undefined }
  resume: { lastEventId: string | undefined }
}

/** Where each option of the library comes from, so that an error can name what was typed. */
const TYPED: Record<string, string> = {
  url: 'URL',
  method: '--method',
  body: '--data',
  'resume.lastEventId': '--last-event-id',
  'tcp.proxy': '--proxy',
  'heartbeat.timeoutMs': '--heartbeat',
  'fileStore(path)': '--cursor',
}

/** What the library says of an option, said of the one that was typed. */
function named<Made>(make: () => Made): Made {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof SseError) || error.code !== 'ERR_SSE_OPTION') throw error
    throw new UsageError(error.message.replace(/^[^:]+/, name => TYPED[name] ?? name))
  }
}

interface RequestValues {
  header?: string[] | undefined
  method?: string | undefined
  data?: string | undefined
}

function request({ header = [], method, data }: RequestValues): Loose<ResilientSseOptions> {
  const headers = header.map((line): [string, string] => {
    const [, name = '', value = ''] = /^([^:]+):(.*)$/s.exec(line) ?? []
    try {
      validateHeaderName(name.trim())
      validateHeaderValue(name.trim(), value.trim())
    } catch {
      // The value may be a secret: only the name is repeated.
      throw new UsageError(
        `--header: ${JSON.stringify(name.trim() || line.slice(0, 20))} is not 'Name: value' as HTTP allows it`,
      )
    }
    return [name.trim(), value.trim()]
  })
  return { headers, method: method ?? (data === undefined ? undefined : 'POST'), body: data }
}

function printer(json: boolean): (event: SseEvent) => Promise<void> {
  const { stdout } = process
  const shown = stdout.isTTY === true ? harmless : (text: string) => text
  return ({ id, event, data }) =>
    write(stdout, `${shown(json ? JSON.stringify({ id, event, data }) : data)}\n`)
}

const paintStatus = painter(process.stderr)
const tell: ResilientSseOptions['onLifecycle'] = event => {
  const line = describe(event)
  if (line !== undefined) process.stderr.write(`${paintStatus(line.ink, line.text)}\n`)
}

function version(): string {
  const path = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}
