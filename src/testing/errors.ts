/**
 * Thrown when an option or a step of a script cannot be used. `option` is the place, as one would write it in code
 * (`'script[1][3].count'`), so that a long script does not have to be searched by eye.
 */
export class FaultServerOptionError extends TypeError {
  readonly code = 'ERR_FAULT_SERVER_OPTION'
  readonly option: string
  readonly value: unknown

  constructor(option: string, value: unknown, allowed: string) {
    super(`${option}: expected ${allowed}, got ${show(value)}`)
    this.name = 'FaultServerOptionError'
    this.option = option
    this.value = value
  }
}

/** The same for an option of a chaos relay: `'faults[2].ms'`. */
export class ChaosOptionError extends TypeError {
  readonly code = 'ERR_CHAOS_OPTION'
  readonly option: string
  readonly value: unknown

  constructor(option: string, value: unknown, allowed: string) {
    super(`${option}: expected ${allowed}, got ${show(value)}`)
    this.name = 'ChaosOptionError'
    this.option = option
    this.value = value
  }
}

function show(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'string')
    return value.length > 60 ? `${JSON.stringify(value.slice(0, 60))}…` : JSON.stringify(value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return String(value)
}
