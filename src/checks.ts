import { SseError } from './errors.ts'

/** Refuses an option with its name and the reason. */
export function refuseOption(name: string, why: string): never {
  throw new SseError('ERR_SSE_OPTION', `${name}: ${why}`)
}

/** Refuses a bad option with its name, the value and what is allowed. */
export function refuse(name: string, value: unknown, allowed: string): never {
  refuseOption(name, `${describe(value)} is not ${allowed}`)
}

/** The value as a text; of what may hold secrets or be long, its type. */
function describe(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined)
    return String(value)
  if (typeof value === 'string') return value.length <= 40 ? JSON.stringify(value) : 'a text of another kind'
  return typeof value === 'function'
    ? 'a function'
    : Array.isArray(value)
      ? 'an array'
      : `a value of type ${typeof value}`
}

export function checkNumber(name: string, value: unknown, min: number, max: number): void {
  if (typeof value === 'number' && value >= min && value <= max) return
  refuse(name, value, `a number from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`)
}

export function checkBoolean(name: string, value: unknown): void {
  if (typeof value !== 'boolean') refuse(name, value, 'true or false')
}

export function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') refuse(name, value, 'a function')
}

/** `more`: what else is allowed, in words. */
export function checkOneOf(
  name: string,
  value: unknown,
  allowed: readonly unknown[],
  more: string[] = [],
): void {
  if (allowed.includes(value)) return
  refuse(name, value, [...allowed.map(one => JSON.stringify(one)), ...more].join(' or '))
}

export function checkObject(name: string, value: unknown, allowed: string): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(name, value, allowed)
}

/** An object with none but the known properties: a misspelt option must not be ignored in silence. */
export function checkGroup(
  name: string,
  value: unknown,
  known: readonly string[],
  allowed = 'an object or false',
  elsewhere: (key: string) => string | undefined = () => undefined,
): void {
  if (value === undefined) return
  checkObject(name, value, allowed)
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    const meant = elsewhere(key)
    const hint = meant === undefined ? `${name} has ${known.join(', ')}` : `did you mean ${meant}?`
    refuseOption(`${name}.${key}`, `no such option; ${hint}`)
  }
}

/** `given` over `defaults`; a property that is `undefined` counts as not given. */
export function withDefaults<Defaults extends object, Given extends object>(
  defaults: Defaults,
  given: Given | undefined,
): Given & Defaults {
  const set = Object.entries(given ?? {}).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(set) } as Given & Defaults
}
