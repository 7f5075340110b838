import { type ParseArgsConfig, parseArgs } from 'node:util'

/** The command line cannot be obeyed as it is; the text is one line that names the option. */
export class UsageError extends Error {}

/** node:util parseArgs, strict; what it dislikes becomes a {@link UsageError} of one line. */
export function parse<Config extends ParseArgsConfig>(config: Config): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config)
  } catch (error) {
    const { message } = error as Error
    // The rest of its texts is advice about positional arguments that begin with a dash.
    throw new UsageError(message.split(/\n|\. /, 1)[0] as string)
  }
}

/** The value of `--name` as an integer, or `fallback` when it was not given. */
export function integer<Fallback>(
  name: string,
  value: string | undefined,
  [min, max]: readonly [min: number, max: number],
  fallback: Fallback,
): number | Fallback {
  if (value === undefined) return fallback
  const number = Number(value)
  if (/^\d+$/.test(value) && number >= min && number <= max) return number
  throw new UsageError(`--${name}: ${JSON.stringify(value)} is not an integer from ${min} to ${max}`)
}

/** The value of `--name` in seconds as milliseconds, fractions allowed. */
export function seconds(name: string, value: string | undefined, maxSeconds: number): number | undefined {
  if (value === undefined) return undefined
  const ms = Math.round(Number(value) * 1_000)
  if (/^\d*\.?\d+$/.test(value) && ms >= 1 && ms <= maxSeconds * 1_000) return ms
  throw new UsageError(`--${name}: ${JSON.stringify(value)} is not a number of seconds up to ${maxSeconds}`)
}
