import { ResilientSse, type ResilientSseOptions } from '../../index.ts'
import type { SurvivingBody } from './body.ts'
import type { Legs } from './legs.ts'
import type { McpSettings, McpStream } from './options.ts'
import type { McpRequest } from './request.ts'

/** What the kinds of streams differ in. */
type OwnOptions = Required<
  Pick<ResilientSseOptions, 'heartbeat' | 'resume' | 'backoff' | 'breaker' | 'isRetryable' | 'onComment'>
>

/** The five layers behind one body: each stream is a `ResilientSse` whose dials are the legs. */
export function engineFor(parts: {
  request: McpRequest
  /** Of each leg but the first. */
  headers: NonNullable<ResilientSseOptions['headers']>
  legs: Legs
  body: SurvivingBody
  settings: McpSettings
  /** What listeners are told. */
  stream: McpStream
  onOpen: (lastEventId: string | undefined) => void
  own: OwnOptions
}): ResilientSse {
  const { request, headers, legs, body, settings, stream, onOpen, own } = parts
  const { dedupe, openTimeoutMs, maxEventChars, tell } = settings
  let cursor: string | undefined
  const engine = new ResilientSse(request.url, {
    ...own,
    headers,
    signal: request.signal,
    fetch: legs.fetch,
    openTimeoutMs,
    maxEventChars,
    dedupe: dedupe === false ? false : { ...dedupe, by: 'id+data' },
    onLifecycle: event => {
      if (event.type === 'dial') cursor = event.lastEventId
      if (event.type === 'open') onOpen(cursor)
      return tell(event, stream)
    },
  })
  body.readFrom(engine)
  return engine
}
