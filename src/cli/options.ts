import { validateHeaderName, validateHeaderValue } from 'node:http'
import { type ResilientSseOptions, SseError } from '../index.ts'
import { UsageError } from './args.ts'

/** How the text behind an option becomes what the library takes. */
interface Kind {
  /** `undefined`: not of this kind. */
  read(text: string): unknown
  /** What is allowed, as an error says it. */
  what: string
  /** What one unit on the command line is in the library. */
  unit: number
}

const seconds: Kind = { read: text => decimal(text, 1_000), what: 'a number of seconds', unit: 1_000 }
const number: Kind = { read: text => decimal(text, 1), what: 'a number', unit: 1 }
const whole: Kind = {
  read: text => (/^\d+$/.test(text) ? Number(text) : undefined),
  what: 'a whole number',
  unit: 1,
}
const text: Kind = { read: text => text, what: 'a text', unit: 1 }
const oneOf = (...words: string[]): Kind => ({
  read: text => (words.includes(text) ? text : undefined),
  what: words.join(', ').replace(/, ([^,]+)$/, ' or $1'),
  unit: 1,
})
const jitter: Kind = {
  read: text => (/^[a-z]/.test(text) ? oneOf('full', 'equal', 'decorrelated').read(text) : decimal(text, 1)),
  what: 'full, equal, decorrelated or a number from 0 to 1',
  unit: 1,
}
const secondsOr = (word: string): Kind => ({
  ...seconds,
  read: text => (text === word ? text : seconds.read(text)),
  what: `${word} or a number of seconds`,
})
/** A switch: no text, but the value that it stands for. */
const flag = (value: boolean): Kind => ({ read: () => value, what: '', unit: 1 })

function decimal(text: string, unit: number): number | undefined {
  if (!/^(\d+\.?\d*|\.\d+)$/.test(text)) return undefined
  const value = Number(text) * unit
  // 0 often means off, so nothing that was typed as more may become it; and 1.1 * 1000 must not be 1100.0000000000002.
  return value === 0 ? 0 : Math.max(Math.round(value * 1e6) / 1e6, Number.MIN_VALUE)
}

export const LAYERS = ['tcp', 'heartbeat', 'resume', 'backoff', 'breaker', 'dedupe'] as const
export type Layer = (typeof LAYERS)[number]

/** Every option of the command that is one of the library's: where it goes there, and how it is read. */
export const LIBRARY: Record<string, readonly [path: string, kind: Kind]> = {
  'open-timeout': ['openTimeoutMs', seconds],
  'max-connection': ['maxConnectionMs', seconds],
  'max-event-chars': ['maxEventChars', whole],
  'no-reconnect-on-end': ['reconnectOnEnd', flag(false)],
  keepalive: ['tcp.keepAliveDelayMs', seconds],
  'connect-timeout': ['tcp.connectTimeoutMs', seconds],
  'no-tcp-nodelay': ['tcp.noDelay', flag(false)],
  http2: ['tcp.allowH2', flag(true)],
  proxy: ['tcp.proxy', text],
  heartbeat: ['heartbeat.timeoutMs', secondsOr('auto')],
  'event-timeout': ['heartbeat.eventTimeoutMs', seconds],
  'last-event-id': ['resume.lastEventId', text],
  'query-parameter': ['resume.queryParameter', text],
  'is-next': ['resume.isNext', oneOf('decimal')],
  'on-gap': ['resume.onGap', oneOf('report', 'throw')],
  'backoff-base': ['backoff.baseMs', seconds],
  'backoff-max': ['backoff.maxMs', seconds],
  'backoff-factor': ['backoff.factor', number],
  'backoff-jitter': ['backoff.jitter', jitter],
  'backoff-reset-after': ['backoff.resetAfterMs', seconds],
  'max-attempts': ['backoff.maxAttempts', whole],
  'breaker-threshold': ['breaker.threshold', whole],
  'breaker-cooldown': ['breaker.cooldownMs', seconds],
  'breaker-on-open': ['breaker.onOpen', oneOf('auto', 'wait', 'throw')],
  'dedupe-capacity': ['dedupe.capacity', whole],
  'dedupe-by': ['dedupe.by', oneOf('id', 'id+data')],
}

/** What the library calls the rest. */
const OTHERS: Record<string, string> = {
  url: 'URL',
  method: '--method',
  body: '--data',
  headers: '--header',
  'fileStore(path)': '--cursor',
}

const switches = Object.fromEntries(LAYERS.map(layer => [`no-${layer}`, { type: 'boolean' as const }]))

/** For parseArgs: all options that say how a stream is made. */
export const STREAM_OPTIONS: Record<string, { type: 'string' | 'boolean'; multiple?: boolean }> = {
  header: { type: 'string', multiple: true },
  method: { type: 'string' },
  data: { type: 'string' },
  resend: { type: 'boolean' },
  cursor: { type: 'string' },
  ...Object.fromEntries(
    Object.entries(LIBRARY).map(([name, [, kind]]) => [
      name,
      { type: kind.what === '' ? ('boolean' as const) : ('string' as const) },
    ]),
  ),
  ...switches,
}

export type Values = Record<string, string | boolean | (string | boolean)[] | undefined>

/** The library's options, as far as they were typed. Their ranges are the library's affair: see {@link named}. */
export function streamOptions(values: Values): ResilientSseOptions {
  const options: Record<string, unknown> = { ...request(values) }
  for (const layer of LAYERS) {
    if (!values[`no-${layer}`]) continue
    const idle = Object.entries(LIBRARY).find(
      ([name, [path]]) => path.startsWith(`${layer}.`) && values[name] !== undefined,
    )?.[0]
    const useless = idle ?? (layer === 'resume' && values.cursor !== undefined ? 'cursor' : undefined)
    if (useless !== undefined) throw new UsageError(`--${useless}: has no effect beside --no-${layer}`)
    options[layer] = false
  }
  for (const [name, [path, kind]] of Object.entries(LIBRARY)) {
    const typed = values[name]
    if (typed === undefined) continue
    const value = kind.read(String(typed))
    if (value === undefined) throw new UsageError(`--${name}: ${JSON.stringify(typed)} is not ${kind.what}`)
    const [first, second] = path.split('.') as [string, string?]
    if (second === undefined) options[first] = value
    else options[first] = { ...(options[first] as object | undefined), [second]: value }
  }
  return options as ResilientSseOptions
}

function request({ header = [], method, data, resend }: Values): ResilientSseOptions {
  if (resend && data === undefined) throw new UsageError('--resend: there is no --data to send again')
  const headers = (header as string[]).map((line): [string, string] => {
    const [, name = '', value = ''] = /^([^:]+):(.*)$/s.exec(line) ?? []
    try {
      validateHeaderName(name.trim())
      validateHeaderValue(name.trim(), value.trim())
    } catch {
      // The value may be a secret: only the name is repeated.
      const shown = JSON.stringify(name.trim() || line.slice(0, 20))
      throw new UsageError(`--header: ${shown} is not 'Name: value' as HTTP allows it`)
    }
    return [name.trim(), value.trim()]
  })
  const body = data as string | undefined
  return {
    headers,
    ...(method !== undefined ? { method: method as string } : body !== undefined ? { method: 'POST' } : {}),
    // A function is the permission to send it again.
    ...(body === undefined ? {} : { body: resend ? () => body : body }),
  }
}

/** Makes something of the library's; what that says of an option is said of the one that was typed, in its unit. */
export function named<Made>(make: () => Made, values: Values): Made {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof SseError) || error.code !== 'ERR_SSE_OPTION') throw error
    throw new UsageError(inTypedWords(error.message, values))
  }
}

function inTypedWords(message: string, values: Values): string {
  const [, about = '', rest = ''] = /^([^:]+): (.*)$/s.exec(message) ?? []
  const found = Object.entries(LIBRARY).find(([, [path]]) => path === about)
  if (found === undefined) return `${OTHERS[about] ?? about}: ${translated(rest)}`
  const [name, [, kind]] = found
  const range = /(?:number|seconds) from ([\d,]+) to ([\d,]+|∞)$/.exec(rest)
  if (range === null) return `--${name}: ${translated(rest)}`
  const [min, max] = range.slice(1).map(bound => {
    const amount = bound === '∞' ? Number.POSITIVE_INFINITY : Number(bound.replaceAll(',', ''))
    return (amount / kind.unit).toLocaleString('en')
  })
  const typed = JSON.stringify(values[name])
  // Some kinds name their range themselves.
  const allowed = / to \d+$/.test(kind.what) ? kind.what : `${kind.what} from ${min} to ${max}`
  return `--${name}: ${typed} is not ${allowed}`
}

/** Advice of the library's that names options of its own. */
function translated(advice: string): string {
  return advice
    .replace('body as a function', '--resend')
    .replace('resume.lastEventId', '--last-event-id')
    .replace(/^false cannot/, 'cannot')
    .replace(/beside proxy$/, 'beside --proxy')
    .replace(/; set method$/, '; set --method')
    .replace('headers: { authorization }', "--header 'Authorization: …'")
}
