import {
  checkFunction,
  checkGroup,
  checkNumber,
  checkOneOf,
  refuse,
  refuseOption,
  withDefaults,
} from './checks.ts'
import { toHeaders } from './http.ts'
import { BACKOFF_DEFAULTS, type BackoffOptions, type ResolvedBackoff } from './layers/backoff.ts'
import { BREAKER_DEFAULTS, Breaker, type BreakerOptions, type ResolvedBreaker } from './layers/breaker.ts'
import { DEDUPE_DEFAULTS, type DedupeOptions, type ResolvedDedupe } from './layers/dedupe.ts'
import {
  HEARTBEAT_DEFAULTS,
  type HeartbeatOptions,
  PROBE_DEFAULTS,
  type ResolvedHeartbeat,
} from './layers/heartbeat.ts'
import { RESUME_DEFAULTS, type ResolvedResume, type ResumeOptions } from './layers/resume.ts'
import type { HeadersOption } from './options.ts'
import { TCP_NAMES } from './tcp-group.ts'

// The option groups of the layers: each is checked and completed here, once.

/** The names of each group's options; a name that is given at the top by mistake is found here. */
export const GROUPS = {
  tcp: TCP_NAMES,
  heartbeat: ['timeoutMs', 'eventTimeoutMs', 'probe'],
  resume: ['lastEventId', 'store', 'ack', 'isNext', 'onGap', 'queryParameter'],
  backoff: Object.keys(BACKOFF_DEFAULTS),
  breaker: Object.keys(BREAKER_DEFAULTS),
  dedupe: Object.keys(DEDUPE_DEFAULTS),
} as const

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export function resolveHeartbeat(given: HeartbeatOptions | undefined): ResolvedHeartbeat {
  checkGroup('heartbeat', given, GROUPS.heartbeat)
  const heartbeat = withDefaults(HEARTBEAT_DEFAULTS, given)
  const { timeoutMs, eventTimeoutMs } = heartbeat
  if (timeoutMs !== 'auto' && timeoutMs !== 0 && typeof timeoutMs !== 'function')
    checkNumber('heartbeat.timeoutMs', timeoutMs, 50, DAY_MS)
  if (eventTimeoutMs !== 0) checkNumber('heartbeat.eventTimeoutMs', eventTimeoutMs, 50, DAY_MS)
  if (heartbeat.probe === undefined) return { timeoutMs, eventTimeoutMs, probe: undefined }
  checkGroup('heartbeat.probe', heartbeat.probe, ['afterMs', 'timeoutMs', 'send'], 'an object')
  const probe = withDefaults(PROBE_DEFAULTS, heartbeat.probe)
  checkNumber('heartbeat.probe.afterMs', probe.afterMs, 10, HOUR_MS)
  checkNumber('heartbeat.probe.timeoutMs', probe.timeoutMs, 10, HOUR_MS)
  checkFunction('heartbeat.probe.send', probe.send)
  return { timeoutMs, eventTimeoutMs, probe }
}

export function resolveResume(given: ResumeOptions | undefined, headers: unknown): ResolvedResume {
  checkGroup('resume', given, GROUPS.resume)
  const resume = withDefaults(RESUME_DEFAULTS, given)
  checkOneOf('resume.ack', resume.ack, ['next', 'manual'])
  checkOneOf('resume.onGap', resume.onGap, ['report', 'throw'])
  for (const name of ['lastEventId', 'queryParameter'] as const) {
    if (resume[name] !== undefined && typeof resume[name] !== 'string')
      refuse(`resume.${name}`, resume[name], 'a string')
  }
  if (/[\0\r\n]/.test(resume.lastEventId ?? '')) {
    refuseOption('resume.lastEventId', 'no event id contains NUL, CR or LF')
  }
  if (resume.isNext !== undefined && typeof resume.isNext !== 'function') {
    checkOneOf('resume.isNext', resume.isNext, ['decimal'], ['a function'])
  }
  const { store } = resume
  if (store !== undefined && (typeof store?.load !== 'function' || typeof store?.save !== 'function')) {
    refuse('resume.store', store, 'an object with load() and save(), such as fileStore(path)')
  }
  if (typeof headers !== 'function' && toHeaders(headers as HeadersOption).has('last-event-id')) {
    refuseOption('headers', 'Last-Event-ID would stop the cursor; use resume.lastEventId')
  }
  return resume
}

export function resolveBackoff(given: BackoffOptions | undefined): ResolvedBackoff {
  checkGroup('backoff', given, GROUPS.backoff)
  const backoff = withDefaults(BACKOFF_DEFAULTS as ResolvedBackoff, given)
  checkNumber('backoff.baseMs', backoff.baseMs, 0, HOUR_MS)
  checkNumber('backoff.maxMs', backoff.maxMs, 1, HOUR_MS)
  if (given?.maxMs === undefined) backoff.maxMs = Math.max(backoff.maxMs, backoff.baseMs)
  checkNumber('backoff.factor', backoff.factor, 1, 10)
  checkNumber('backoff.resetAfterMs', backoff.resetAfterMs, 0, HOUR_MS)
  checkNumber('backoff.maxAttempts', backoff.maxAttempts, 1, Number.POSITIVE_INFINITY)
  checkOneOf('backoff.retry', backoff.retry, ['floor', 'exact'])
  if (typeof backoff.jitter === 'number') checkNumber('backoff.jitter', backoff.jitter, 0, 1)
  else
    checkOneOf('backoff.jitter', backoff.jitter, ['full', 'equal', 'decorrelated'], ['a number from 0 to 1'])
  return backoff
}

export function resolveBreaker(given: BreakerOptions | Breaker | false | undefined): Breaker | false {
  if (given === false || given instanceof Breaker) return given
  checkGroup('breaker', given, GROUPS.breaker)
  return new Breaker(withDefaults(BREAKER_DEFAULTS as ResolvedBreaker, given))
}

export function resolveDedupe(given: DedupeOptions | undefined): ResolvedDedupe {
  checkGroup('dedupe', given, GROUPS.dedupe)
  const dedupe = withDefaults(DEDUPE_DEFAULTS as ResolvedDedupe, given)
  checkNumber('dedupe.capacity', dedupe.capacity, 1, 10_000_000)
  checkOneOf('dedupe.by', dedupe.by, ['id', 'id+data'])
  return dedupe
}
