// Command-line flags: numbers are checked, and what is wrong is said in one line.
import { parseArgs } from 'node:util'

export class FlagError extends Error {}

export interface Flag {
  type: 'string' | 'boolean'
  default?: string | boolean
}

export function parse<Names extends string>(
  whose: 'client' | 'server',
  flags: Record<Names, Flag>,
  args: readonly string[],
): Record<Names, string | boolean | undefined> {
  try {
    const { values } = parseArgs({ args: [...args], options: flags, strict: true })
    return values as unknown as Record<Names, string | boolean | undefined>
  } catch (error) {
    const there = Object.keys(flags).map(name => `--${name}`)
    throw new FlagError(
      `${(error as Error).message.split('\n')[0]}; those of the ${whose} are ${there.join(', ')}`,
    )
  }
}

export function integer(
  name: string,
  value: string | boolean | undefined,
  least: number,
  most: number,
): number {
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  throw new FlagError(`--${name}: ${value} is not a whole number from ${least} to ${most}`)
}

export function oneOf<Value extends string>(
  name: string,
  value: string | boolean | undefined,
  allowed: readonly Value[],
): Value {
  const found = allowed.find(one => one === String(value))
  if (found !== undefined) return found
  throw new FlagError(`--${name}: ${value} is none of ${allowed.join(', ')}`)
}
