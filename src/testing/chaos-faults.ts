/** From a smallest to a largest value, both included; a seed decides which. A number stands for itself. */
export type ChaosRange = number | readonly [least: number, most: number]

/** When a fault strikes, and how often it is dealt. */
export interface ChaosTiming {
  /**
   * How many bytes of the target's answer reach the client first. Integers of 0 or more. Default `[0, 16384]`, unless
   * `afterMs` is given: a position is the same in every run, a time is not. 0: at once when the connection is accepted.
   */
  afterBytes?: ChaosRange
  /** Strikes so long after the connection was accepted, in milliseconds from 0 to 2,147,483,647. Default: by position. */
  afterMs?: ChaosRange
  /** How often it is dealt in each round. An integer of 1 to 1,000. Default 1. */
  times?: number
}

/**
 * What a {@link ChaosRelay} does to a connection. Plain data, so that a list of faults can be kept in a file, written
 * on a command line or sent to another process; a name alone stands for `{ do: name }`.
 */
export type ChaosFault = ChaosTiming &
  (
    | {
        /** RST to both ends. */
        do: 'reset'
        /** See `cut`. */
        inside?: 'event'
      }
    | {
        /** FIN to the client after what was passed on; the target is left too. */
        do: 'cut'
        /**
         * `'event'`: the first place from there on that is in the middle of a `data:` line. Needs plain text; under TLS use a
         * position, hardly any of which lies between two events. Default: exactly at the position.
         */
        inside?: 'event'
      }
    | {
        /** Nothing passes in either direction, and both ends stay connected until the client leaves. */
        do: 'stall'
        /** For so many milliseconds, up to 2,147,483,647; then what was held goes on. Default: to the end. */
        ms?: ChaosRange
      }
    | {
        /**
         * Every piece arrives later, in both directions, to the end of the connection. At most 1 MiB is on its way in each
         * direction; then the sender is slowed down.
         */
        do: 'delay'
        /** By so many milliseconds, 0 to 2,147,483,647. Default 100. */
        ms?: ChaosRange
      }
    | {
        /** The answer arrives in small pieces, to the end of the connection. */
        do: 'drip'
        /** Bytes in a piece, 1 or more. Default 1: every boundary of characters, lines and chunks is met. */
        bytes?: ChaosRange
        /** From piece to piece, in milliseconds, 1 to 2,147,483,647. Default 10. */
        everyMs?: ChaosRange
      }
    | {
        /**
         * The whole path is silent: every open connection, and those that are accepted meanwhile. New ones wait until it is
         * over and then go on, as a SYN that is sent again does.
         */
        do: 'blackhole'
        /** For so many milliseconds, 0 to 2,147,483,647. Default 1,000. */
        ms?: ChaosRange
        /**
         * `'hold'` (default): what comes on open connections meanwhile goes on afterwards, as TCP sends again what got lost.
         * `'drop'`: it is swallowed, and these connections stay silent and open for good, as when a NAT has forgotten them:
         * neither end is told.
         */
        bytes?: 'hold' | 'drop'
      }
    | {
        /** RST, and the port refuses new connections: a server that restarts. */
        do: 'refuse'
        /** For so many milliseconds, 0 to 2,147,483,647. Default 1,000. */
        ms?: ChaosRange
      }
    | { /** The connection is left alone. */ do: 'pass' }
  )

export type ChaosFaultName = ChaosFault['do']

/** A fault with every choice made. */
export interface DealtFault {
  readonly do: ChaosFaultName
  readonly afterBytes: number | undefined
  readonly afterMs: number | undefined
  readonly ms: number | undefined
  readonly bytes: number | 'hold' | 'drop' | undefined
  readonly everyMs: number | undefined
  readonly inside: 'event' | undefined
}

/** The longest wait of a timer: Node turns a longer one into 1 ms. */
export const MAX_TIMER_MS = 2_147_483_647
const DEFAULT_AFTER_BYTES = [0, 16_384] as const

type Field = { allowed: string; ok: (value: unknown) => boolean; byDefault?: ChaosRange | string }

const isNumber = (min: number, max: number, whole: boolean) => (value: unknown) =>
  typeof value === 'number' && value >= min && value <= max && (!whole || Number.isSafeInteger(value))
function range(min: number, max: number, unit: string, byDefault?: ChaosRange): Field {
  const whole = unit !== 'milliseconds'
  const one = isNumber(min, max, whole)
  return {
    allowed: `${whole ? 'an integer' : unit} from ${min} to ${max}, or [least, most]`,
    ok: value =>
      one(value) || (Array.isArray(value) && value.length === 2 && value.every(one) && value[0] <= value[1]),
    ...(byDefault === undefined ? {} : { byDefault }),
  }
}
function oneOf(values: readonly string[], byDefault?: string): Field {
  return {
    allowed: values.map(value => JSON.stringify(value)).join(' or '),
    ok: value => values.includes(value as string),
    ...(byDefault === undefined ? {} : { byDefault }),
  }
}

const ms = (byDefault?: number) => range(0, MAX_TIMER_MS, 'milliseconds', byDefault)
const bytes = (min: number, byDefault?: number) => range(min, Number.MAX_SAFE_INTEGER, 'bytes', byDefault)

const TIMING: Record<keyof ChaosTiming, Field> = {
  afterBytes: bytes(0),
  afterMs: ms(),
  times: { allowed: 'an integer from 1 to 1000', ok: isNumber(1, 1_000, true) },
}
/** The fields of each fault, beside those of {@link ChaosTiming}. */
export const FAULTS: Record<ChaosFaultName, Record<string, Field>> = {
  reset: { inside: oneOf(['event']) },
  cut: { inside: oneOf(['event']) },
  stall: { ms: ms() },
  delay: { ms: ms(100) },
  drip: { bytes: bytes(1, 1), everyMs: range(1, MAX_TIMER_MS, 'milliseconds', 10) },
  blackhole: { ms: ms(1_000), bytes: oneOf(['hold', 'drop'], 'hold') },
  refuse: { ms: ms(1_000) },
  pass: {},
}

const FAULT_NAMES = Object.keys(FAULTS)

/** What is wrong with a fault, as `[field, value, allowed]`; the field is empty when it is the whole. */
export type Complaint = readonly [field: string, value: unknown, allowed: string]

/** Finds the first thing in a fault that cannot be played. */
export function complaint(fault: unknown): Complaint | undefined {
  const named = `one of ${FAULT_NAMES.join(', ')}`
  if (typeof fault === 'string')
    return Object.hasOwn(FAULTS, fault) ? undefined : (['', fault, named] as const)
  if (typeof fault !== 'object' || fault === null || Array.isArray(fault))
    return ['', fault, `a fault such as 'reset' or { do: 'stall', ms: 500 }`]
  const { do: name, ...given } = fault as Record<string, unknown>
  if (typeof name !== 'string' || !Object.hasOwn(FAULTS, name)) return ['do', name, named]
  const fields: Record<string, Field> = { ...TIMING, ...FAULTS[name as ChaosFaultName] }
  for (const [field, value] of Object.entries(given)) {
    if (value === undefined) continue
    const { ok, allowed } = fields[field] ?? {
      ok: () => false,
      allowed: `no such field in ${name}; there is ${Object.keys(fields).join(', ')}`,
    }
    if (!ok(value)) return [field, value, allowed]
  }
  if (given.afterBytes !== undefined && given.afterMs !== undefined)
    return ['afterMs', given.afterMs, 'afterBytes or afterMs, not both']
  return undefined
}

export function asFault(fault: ChaosFault | ChaosFaultName): ChaosFault {
  return typeof fault === 'string' ? ({ do: fault } as ChaosFault) : fault
}

/** Makes the choices that a fault leaves open. Always draws in the same order, so that a seed gives the same faults. */
export function deal(fault: ChaosFault, random: () => number): DealtFault {
  const given = fault as unknown as Record<string, unknown>
  const fields = FAULTS[fault.do]
  const pick = (name: string, byDefault?: ChaosRange | string): unknown => {
    const chance = random()
    const value = given[name] ?? byDefault ?? fields[name]?.byDefault
    if (!Array.isArray(value)) return value
    const [least, most] = value as [number, number]
    return least + Math.floor(chance * (Math.floor(most - least) + 1))
  }
  return {
    do: fault.do,
    afterBytes: pick('afterBytes', fault.afterMs === undefined ? DEFAULT_AFTER_BYTES : undefined),
    afterMs: pick('afterMs'),
    ms: pick('ms'),
    bytes: pick('bytes'),
    everyMs: pick('everyMs'),
    inside: pick('inside'),
  } as DealtFault
}

/** What a fault was dealt, in words: `200 ms, bytes dropped`. */
export function detailOf({ do: name, ms, bytes, everyMs, inside }: DealtFault): string | undefined {
  if (inside !== undefined) return `inside an ${inside}`
  if (name === 'drip') return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'} every ${everyMs} ms`
  if (name === 'stall' && ms === undefined) return 'to the end'
  if (ms === undefined) return undefined
  return bytes === 'drop' ? `${ms} ms, bytes dropped` : `${ms} ms`
}
