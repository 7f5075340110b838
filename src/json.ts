import { refuseOption } from './checks.ts'
import { SseError } from './errors.ts'
import type { SseEvent } from './event.ts'

/** What this package needs of Standard Schema v1 (standardschema.dev), which zod, valibot, arktype and others speak. */
export interface StandardSchema<Output> {
  readonly '~standard': {
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[]
    }

/** An event whose data was parsed. */
export interface JsonEvent<Output> {
  readonly data: Output
  readonly id?: string | undefined
  readonly event?: string | undefined
}

/**
 * Parses and checks each event of `events`; the first that does not fit ends the stream with `ERR_SSE_JSON`, which `fail`
 * sees to. `onParsed` learns what stands for which event, before it is handed out.
 */
export function jsonEvents<Output>(
  events: AsyncIterableIterator<SseEvent, undefined>,
  schema: StandardSchema<Output> | undefined,
  onParsed: (parsed: JsonEvent<Output>, event: SseEvent) => void,
  fail: (error: unknown) => Promise<void>,
): AsyncIterableIterator<JsonEvent<Output>, undefined> {
  if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
    const those = 'zod 3.24, valibot 1 and arktype 2, or newer, make them'
    refuseOption('json', `not a Standard Schema, which has '~standard' (${those})`)
  }
  const iterator = {
    async next(): Promise<IteratorResult<JsonEvent<Output>, undefined>> {
      const result = await events.next()
      if (result.done) return result
      const { id, event } = result.value
      try {
        const value = { data: await parse(result.value, schema), id, event }
        onParsed(value, result.value)
        return { done: false, value }
      } catch (error) {
        // The event in hand stays unacknowledged, as after a throw of the consumer's own.
        await fail(error)
        throw error
      }
    },
    async return() {
      await events.return?.()
      return { done: true as const, value: undefined }
    },
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: async () => void (await events.return?.()),
  }
  return iterator
}

async function parse<Output>(
  { data, id }: SseEvent,
  schema: StandardSchema<Output> | undefined,
): Promise<Output> {
  const which = id === undefined ? 'An event without id' : `The event ${JSON.stringify(id)}`
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (cause) {
    throw new SseError('ERR_SSE_JSON', `${which} holds data that is not JSON`, { cause })
  }
  if (schema === undefined) return value as Output
  let result: StandardResult<Output>
  try {
    result = await schema['~standard'].validate(value)
  } catch (cause) {
    throw new SseError('ERR_SSE_JSON', `${which} made the schema throw`, { cause })
  }
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(issue => {
    const path = (issue.path ?? []).map(part =>
      String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part),
    )
    return path.length > 0 ? `${path.join('.')}: ${issue.message}` : issue.message
  })
  throw new SseError('ERR_SSE_JSON', `${which} does not match the schema (${issues.join('; ')})`, {
    cause: result.issues,
  })
}
