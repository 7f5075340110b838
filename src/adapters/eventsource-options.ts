import {
  type Breaker,
  type BreakerOptions,
  type LifecycleListener,
  ResilientSse,
  type ResilientSseOptions,
  SseError,
  SseHttpError,
} from '../index.ts'
import type { EventSourceInit } from './eventsource-init.ts'
import { inOurSpelling, isGroup, refuseOption, SPELLINGS } from './eventsource-spellings.ts'
import { withCookies } from './platform.ts'

const OURS = ['withCredentials', 'omitCredentials', 'conformance']

/** The stream that these options ask for; an error about one of them says it in the words it was given in. */
export function openStream(url: URL, init: EventSourceInit, onLifecycle: LifecycleListener): ResilientSse {
  if (typeof init !== 'object') refuseOption('options', 'are not an object')
  const { withCredentials, omitCredentials, conformance = 'resilient', ...given } = init
  if (conformance !== 'resilient' && conformance !== 'whatwg')
    refuseOption('conformance', "is neither 'resilient' nor 'whatwg'")
  if (given.onLifecycle !== undefined && typeof given.onLifecycle !== 'function')
    refuseOption('onLifecycle', 'is not a function')
  const spelled = inOurSpelling(given)
  const options = withOurDefaults(conformance === 'whatwg', withCursor(spelled.options))
  const cookies = omitCredentials ? 'omit' : withCredentials ? 'include' : undefined
  try {
    return new ResilientSse(url, withCookies(cookies, { ...options, onLifecycle }))
  } catch (error) {
    throw error instanceof SseError ? asGiven(error, spelled.givenAs) : error
  }
}

/** [launchdarkly-eventsource] Last-Event-ID among the headers is where to start; the core keeps the cursor elsewhere. */
function withCursor(given: ResilientSseOptions): ResilientSseOptions {
  const { headers, resume = {} } = given
  if (!isGroup(headers) || !isGroup(resume) || resume.lastEventId !== undefined) return given
  const [name, id] = Object.entries(headers).find(([key]) => /^last-event-id$/i.test(key)) ?? []
  if (name === undefined || typeof id !== 'string') return given
  const { [name]: _, ...others } = headers
  return {
    ...given,
    headers: others as Record<string, string>,
    resume: { ...resume, ...(id && { lastEventId: id }) },
  }
}

function withOurDefaults(whatwg: boolean, given: ResilientSseOptions): ResilientSseOptions {
  const options = whatwg ? withStandard(given) : given
  const { breaker, resume } = options
  if (resume && resume.ack === 'manual')
    refuseOption('resume.ack', "'manual' cannot take effect; an event is handled when its listeners return")
  // The standard's EventSource never gives up because dialling has failed often.
  return { ...options, breaker: filled<BreakerOptions, Breaker | false>(breaker, { onOpen: 'wait' }) }
}

/** What the standard leaves to nobody: any answer but a stream is the end, and what was sent is an event. */
function withStandard(given: ResilientSseOptions): ResilientSseOptions {
  const { heartbeat = false, dedupe = false, backoff, isRetryable: asked = () => undefined } = given
  const isRetryable: typeof asked = (error, context) =>
    asked(error, context) ?? (error instanceof SseHttpError ? false : undefined)
  return {
    ...given,
    heartbeat,
    dedupe,
    backoff: filled(backoff, { jitter: 0 }),
    isRetryable: typeof asked === 'function' ? isRetryable : asked,
  }
}

/** What is neither an object nor absent is left for the core to judge: `false`, a shared `Breaker`, a mistake. */
function filled<Group extends object, Other>(
  group: Group | Other | undefined,
  defaults: Group,
): Group | Other {
  if (group === undefined) return defaults
  if (!isGroup(group)) return group
  const given = Object.entries(group).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) }
}

/** An error of the core, whose text begins with the option or its group, or lists the options that it has itself. */
function asGiven(error: SseError, givenAs: ReadonlyMap<string, string>): SseError {
  if (error.message.includes(': no such option; options has '))
    return new SseError('ERR_SSE_OPTION', [error.message, ...OURS, ...Object.keys(SPELLINGS)].join(', '))
  const [subject = ''] = error.message.split(': ', 1)
  for (const [path, name] of givenAs) {
    if (path !== subject && !path.startsWith(`${subject}.`)) continue
    return new SseError('ERR_SSE_OPTION', name + error.message.slice(subject.length))
  }
  return error
}
