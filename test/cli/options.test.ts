import { ResilientSse } from 'resilient-sse'
import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/cli/args.ts'
import { OPTIONS } from '../../src/cli/follow.ts'
import { HELP } from '../../src/cli/help.ts'
import { LIBRARY, named, streamOptions, type Values } from '../../src/cli/options.ts'
import { resolveOptions } from '../../src/options.ts'
import { read } from '../docs/markdown.ts'

const URL_ = 'http://127.0.0.1:9/events'

/** What the command says of these values; undefined when they can be obeyed. */
function refusal(values: Values): string | undefined {
  try {
    named(() => new ResilientSse(URL_, streamOptions(values)), values)
    return undefined
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
}

const rows = [...read('docs/cli.md').matchAll(/^\| `--([\w-]+)` \| (.*?) \| (.*?) \|/gm)].map(
  ([, name = '', value = '', byDefault = '']) => ({ name, value, byDefault: byDefault.replaceAll('`', '') }),
)

describe('each option', () => {
  it.for(Object.keys(OPTIONS))('--%s is in the help and in docs/cli.md', name => {
    expect(HELP).toMatch(new RegExp(`--${name}\\b(?!-)`))
    expect(read('docs/cli.md')).toContain(`\`--${name}\``)
  })

  it('that is documented exists', () => {
    expect(rows.length).toBeGreaterThan(30)
    for (const text of [HELP, read('docs/cli.md')]) {
      const names = [...text.matchAll(/(?<![\w-])--([a-z][\w-]+)/g)].map(([, name = '']) => name)
      expect(names.filter(name => !(name in OPTIONS) && name !== 'serve')).toEqual([])
    }
  })

  it.for([
    ['open-timeout', '2.5', { openTimeoutMs: 2_500 }],
    ['max-connection', '60', { maxConnectionMs: 60_000 }],
    ['max-event-chars', '99', { maxEventChars: 99 }],
    ['no-reconnect-on-end', true, { reconnectOnEnd: false }],
    ['keepalive', '20', { tcp: { keepAliveDelayMs: 20_000 } }],
    ['connect-timeout', '1.1', { tcp: { connectTimeoutMs: 1_100 } }],
    ['no-tcp-nodelay', true, { tcp: { noDelay: false } }],
    ['http2', true, { tcp: { allowH2: true } }],
    ['proxy', 'env', { tcp: { proxy: 'env' } }],
    ['heartbeat', 'auto', { heartbeat: { timeoutMs: 'auto' } }],
    ['heartbeat', '.5', { heartbeat: { timeoutMs: 500 } }],
    ['event-timeout', '3', { heartbeat: { eventTimeoutMs: 3_000 } }],
    ['last-event-id', '7', { resume: { lastEventId: '7' } }],
    ['query-parameter', 'after', { resume: { queryParameter: 'after' } }],
    ['is-next', 'decimal', { resume: { isNext: 'decimal' } }],
    ['on-gap', 'throw', { resume: { onGap: 'throw' } }],
    ['backoff-base', '0', { backoff: { baseMs: 0 } }],
    ['backoff-max', '4', { backoff: { maxMs: 4_000 } }],
    ['backoff-factor', '1.5', { backoff: { factor: 1.5 } }],
    ['backoff-jitter', '0.25', { backoff: { jitter: 0.25 } }],
    ['backoff-jitter', 'equal', { backoff: { jitter: 'equal' } }],
    ['backoff-reset-after', '5', { backoff: { resetAfterMs: 5_000 } }],
    ['max-attempts', '3', { backoff: { maxAttempts: 3 } }],
    ['breaker-threshold', '2', { breaker: { threshold: 2 } }],
    ['breaker-cooldown', '1', { breaker: { cooldownMs: 1_000 } }],
    ['breaker-on-open', 'wait', { breaker: { onOpen: 'wait' } }],
    ['dedupe-capacity', '50', { dedupe: { capacity: 50 } }],
    ['dedupe-by', 'id+data', { dedupe: { by: 'id+data' } }],
    ['no-tcp', true, { tcp: false }],
    ['no-heartbeat', true, { heartbeat: false }],
    ['no-resume', true, { resume: false }],
    ['no-backoff', true, { backoff: false }],
    ['no-breaker', true, { breaker: false }],
    ['no-dedupe', true, { dedupe: false }],
  ] as const)('--%s %s is the library’s %j', ([name, value, expected]) => {
    expect(streamOptions({ [name]: value })).toEqual({ headers: [], ...expected })
    expect(refusal({ [name]: value })).toBeUndefined()
  })

  it('makes a body that may be sent again with --resend only', () => {
    expect(streamOptions({ data: 'x' })).toMatchObject({ method: 'POST', body: 'x' })
    expect(streamOptions({ data: 'x', resend: true }).body).toBeTypeOf('function')
  })
})

describe('docs/cli.md', () => {
  const resolved = resolveOptions(URL_, undefined) as unknown as Record<string, Record<string, unknown>>

  const defaults = rows.filter(({ name }) => LIBRARY[name]?.[1].what)

  it.for(defaults)('has the default of --$name that the library has', ({ name, byDefault }) => {
    const [path, { unit }] = LIBRARY[name] as (typeof LIBRARY)[string]
    const [first = '', second] = path.split('.')
    const group = first === 'breaker' ? resolved.breaker?.options : resolved[first]
    const value = second === undefined ? group : (group as Record<string, unknown>)[second]
    const typed = typeof value === 'number' ? (value / unit).toLocaleString('en') : value
    const none = typed === undefined || typed === '∞'
    expect(none ? ['none', 'never'] : [typed]).toContain(byDefault)
  })

  const ranges = rows.flatMap(({ name, value }) => {
    const [, min, max] = /([\d.,]+) to ([\d.,]+|∞)/.exec(value) ?? []
    return min === undefined || max === undefined ? [] : [{ name, min, max }]
  })

  it.for(ranges)('has the range of --$name: $min to $max', ({ name, min, max }) => {
    const plain = (text: string) => text.replaceAll(',', '')
    const unit = LIBRARY[name]?.[1].unit as number
    expect(refusal({ [name]: plain(min) })).toBeUndefined()
    // 0 stands for off where it is not in the range.
    const less = Number(min) > 1 / unit ? Number(min) - 1 / unit : Number(min) - 0.5 / unit
    expect(refusal({ [name]: String(less) })).toMatch(`--${name}: "${less}" is not `)
    if (max === '∞') return
    expect(refusal({ [name]: plain(max) })).toBeUndefined()
    const more = String(Number(plain(max)) + 1)
    expect(refusal({ [name]: more })).toMatch(`--${name}: "${more}" is not `)
    expect(refusal({ [name]: more })).toMatch(` from ${Number(plain(min)).toLocaleString('en')} to ${max}`)
  })

  it('has a range for most of what is counted', () => {
    expect(ranges.length).toBeGreaterThan(15)
  })
})

describe('a value that is not allowed', () => {
  it.for([
    [{ keepalive: 'soon' }, '--keepalive: "soon" is not a number of seconds'],
    [{ keepalive: '-1' }, '--keepalive: "-1" is not a number of seconds'],
    [{ keepalive: '0.1' }, '--keepalive: "0.1" is not a number of seconds from 1 to 7,200'],
    // 0 is off: what is more than that must not become it.
    [{ 'event-timeout': '0.00000001' }, '--event-timeout: "0.00000001" is not a number of seconds from 0.05'],
    [{ 'max-attempts': '2.5' }, '--max-attempts: "2.5" is not a whole number'],
    [{ 'max-attempts': '0' }, '--max-attempts: "0" is not a whole number from 1 to ∞'],
    [
      { 'backoff-jitter': '2' },
      '--backoff-jitter: "2" is not full, equal, decorrelated or a number from 0 to 1',
    ],
    [{ 'backoff-jitter': 'some' }, '--backoff-jitter: "some" is not full, equal, decorrelated or a number'],
    [{ 'breaker-cooldown': '0' }, '--breaker-cooldown: "0" is not a number of seconds from 0.001 to 3,600'],
    [{ 'breaker-on-open': 'cry' }, '--breaker-on-open: "cry" is not auto, wait or throw'],
    [{ 'is-next': 'hex' }, '--is-next: "hex" is not decimal'],
    [{ 'last-event-id': 'a\nb' }, '--last-event-id: no event id contains NUL, CR or LF'],
    [{ 'no-tcp': true, keepalive: '5' }, '--keepalive: has no effect beside --no-tcp'],
    [{ 'no-resume': true, cursor: 'x' }, '--cursor: has no effect beside --no-resume'],
    [{ resend: true }, '--resend: there is no --data to send again'],
    [{ method: 'GET', data: 'x' }, '--data: GET has none; set --method'],
    [
      { data: 'x', 'max-connection': '9' },
      '--max-connection: cannot take effect, because POST is sent again only with --resend',
    ],
    [{ proxy: 'http://p:1', 'no-tcp-nodelay': true }, '--no-tcp-nodelay: cannot take effect beside --proxy'],
    [{ header: ['Last-Event-ID: 7'] }, '--header: Last-Event-ID would stop the cursor; use --last-event-id'],
  ] as const)('%j is refused with its name', ([values, message]) => {
    expect(refusal(values as unknown as Values)).toContain(message)
    expect(refusal(values as unknown as Values)).not.toContain('\n')
  })
})
