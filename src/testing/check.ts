import { FaultServerOptionError } from './errors.js'
import type { ConnectionScript, StepName } from './steps.js'

type Check = { allowed: string; ok: (value: unknown) => boolean; optional?: true }
type Kind = 'any' | 'head' | 'body' | 'end' | 'instead' | 'between'

// Node turns a longer timer into one of 1 ms, which would be a fault nobody asked for.
const MAX_TIMER_MS = 2_147_483_647

const check = (allowed: string, ok: (value: unknown) => boolean): Check => ({ allowed, ok })
const optional = (inner: Check): Check => ({ ...inner, optional: true })
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const count = check('an integer of 0 or more', value => isInteger(value) && value >= 0)
const atLeastOne = check('an integer of 1 or more', value => isInteger(value) && value >= 1)
const ms = check(
  `milliseconds from 0 to ${MAX_TIMER_MS}`,
  value => typeof value === 'number' && value >= 0 && value <= MAX_TIMER_MS,
)
const text = check('a string', value => typeof value === 'string')
const oneLine = check('one line of text', value => typeof value === 'string' && !/[\r\n]/.test(value))
const oneOf = (...values: unknown[]) =>
  check(values.map(v => JSON.stringify(v)).join(' or '), v => values.includes(v))
const status = check(
  'an HTTP status from 200 to 999',
  value => isInteger(value) && value >= 200 && value <= 999,
)
const share = check('a share from 0 to 1', value => typeof value === 'number' && value >= 0 && value <= 1)
const flag = check('true or false', value => typeof value === 'boolean')
const bytes = check(
  'an array of bytes (0 to 255)',
  value => Array.isArray(value) && value.every(byte => isInteger(byte) && byte >= 0 && byte <= 255),
)
const overlap = check('an integer of 0 or more, or "all"', value => value === 'all' || count.ok(value))
const headers = check('header names with a string, an array of strings or null', value => {
  if (!isRecord(value)) return false
  return Object.entries(value).every(
    ([name, field]) =>
      /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && (field === null || [field].flat().every(one => oneLine.ok(one))),
  )
})

const words: Record<StepName, [Kind, Record<string, Check>]> = {
  replay: ['any', { overlap }],
  ignoreId: ['any', {}],
  fromNow: ['any', {}],
  startAt: ['any', { index: count }],
  skip: ['any', { count }],
  numberAnew: ['any', {}],
  dribble: ['any', { bytes: atLeastOne, everyMs: ms }],
  oneChunkPerEvent: ['any', {}],
  lineEnding: ['any', { ending: oneOf('\n', '\r\n', '\r') }],
  hold: ['head', { ms }],
  headers: ['head', { headers }],
  closeDelimited: ['head', {}],
  contentLength: ['head', { bytes: optional(count) }],
  send: ['body', { count }],
  rest: ['body', {}],
  follow: ['body', {}],
  event: ['body', { data: text, id: optional(oneLine), event: optional(oneLine) }],
  idOnly: ['body', { id: oneLine }],
  retry: ['body', { ms: oneLine }],
  comment: ['body', { text: oneLine }],
  heartbeats: ['body', { everyMs: ms, jitter: optional(share), count: optional(count) }],
  raw: ['body', { text }],
  rawBytes: ['body', { bytes }],
  wait: ['body', { ms }],
  bigEvent: ['body', { chars: count, id: optional(oneLine) }],
  endlessLine: ['body', { maxBytes: count }],
  endlessData: ['body', { maxBytes: count }],
  endlessComment: ['body', { maxBytes: count }],
  end: ['end', {}],
  cut: ['end', {}],
  reset: ['end', { flushed: flag }],
  cutInside: ['end', { where: oneOf('event', 'character', 'crlf'), by: oneOf('fin', 'rst') }],
  silence: ['end', {}],
  stay: ['end', {}],
  headersOnly: ['instead', {}],
  noHeaders: ['instead', {}],
  garbage: ['instead', {}],
  answer: [
    'instead',
    { status, headers: optional(headers), body: optional(text), reason: optional(oneLine) },
  ],
  redirect: ['instead', { location: optional(oneLine), status }],
  refuse: ['between', { ms: optional(ms) }],
  restart: ['between', {}],
  forget: ['between', { count }],
}

/** Whether a word is one of those that stand after the end of a connection. */
export const isBetween = (name: StepName): boolean => words[name][0] === 'between'

/** Throws {@link FaultServerOptionError} naming `script[i][j]` unless every step can be played. */
export function checkScripts(scripts: unknown, name: string): asserts scripts is ConnectionScript[] {
  if (!Array.isArray(scripts))
    throw new FaultServerOptionError(name, scripts, 'an array of connection scripts, each an array of steps')
  scripts.forEach((script, i) => {
    checkScript(script, `${name}[${i}]`)
  })
}

/** The same for the script of one connection. */
export function checkScript(script: unknown, name: string): asserts script is ConnectionScript {
  if (!Array.isArray(script)) throw new FaultServerOptionError(name, script, 'an array of steps')
  let before: 'head' | 'body' | 'end' = 'head'
  let last = ''
  let mustCount = false
  script.forEach((step, j) => {
    const kind = checkStep(step, `${name}[${j}]`)
    const refuse = (allowed: string) => {
      throw new FaultServerOptionError(`${name}[${j}]`, step.do, allowed)
    }
    if (before === 'end' && kind !== 'between') refuse(`refuse, restart, forget or nothing after ${last}`)
    if (before === 'body' && kind === 'head') refuse('this word before the first one that sends')
    if (before === 'body' && kind === 'instead') refuse('this word in place of a body, not after one began')
    if (kind === 'body' && before === 'head') before = 'body'
    if (kind === 'end' || kind === 'instead' || kind === 'between') before = 'end'
    if (mustCount && (step.do === 'follow' || (step.do === 'heartbeats' && step.count === undefined)))
      refuse('contentLength(bytes) with a number beside a word without an end')
    mustCount ||= step.do === 'contentLength' && step.bytes === undefined
    last = step.do
  })
}

function checkStep(step: unknown, name: string): Kind {
  if (!isRecord(step)) throw new FaultServerOptionError(name, step, 'a step, as made by send(), reset() …')
  if (typeof step.do !== 'string' || !Object.hasOwn(words, step.do))
    throw new FaultServerOptionError(`${name}.do`, step.do, `one of ${Object.keys(words).join(', ')}`)
  const [kind, fields] = words[step.do as StepName]
  for (const [field, { allowed, ok, optional: mayMiss }] of Object.entries(fields)) {
    const value = step[field]
    if (value === undefined && mayMiss) continue
    if (!ok(value)) throw new FaultServerOptionError(`${name}.${field}`, value, `${allowed} (${step.do})`)
  }
  for (const field of Object.keys(step))
    if (field !== 'do' && !Object.hasOwn(fields, field))
      throw new FaultServerOptionError(`${name}.${field}`, step[field], `no such field in ${step.do}`)
  return kind
}
