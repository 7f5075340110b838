import type { HeartbeatOptions } from '../../index.ts'

/**
 * The watchdog of a call's answer. TypeScript servers before 1.30 are silent for as long as a tool works; newer ones and
 * the Python SDK's send a comment every 15 s. So silence alone ends a leg that can be resumed, where a mistake costs
 * nothing; of one that cannot be, only heartbeats that had been heard and stopped are a sign of death.
 */
export function patience(
  given: HeartbeatOptions | false | undefined,
  canResume: () => boolean,
): HeartbeatOptions | false {
  if (given === false || (given?.timeoutMs ?? 'auto') !== 'auto') return given ?? {}
  return { ...given, timeoutMs: ({ autoMs, learned }) => (learned || canResume() ? autoMs : 0) }
}
