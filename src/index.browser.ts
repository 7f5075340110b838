export { keepaliveFetch, type ResilientFetchOptions, resilientFetch } from './adapters/fetch.ts'
export {
  type GapReason,
  type HistoryEntry,
  SseCircuitOpenError,
  SseError,
  type SseErrorCode,
  SseGapError,
  SseHeartbeatError,
  SseHttpError,
} from './errors.ts'
export type { SseEvent } from './event.ts'
export type { JsonEvent, StandardSchema } from './json.ts'
export type { BackoffOptions } from './layers/backoff.ts'
export { Breaker, type BreakerOptions, type BreakerState } from './layers/breaker.ts'
export type { DedupeOptions } from './layers/dedupe.ts'
export type { HeartbeatOptions, KnownRhythm, ProbeOptions } from './layers/heartbeat.ts'
export type { CursorStore, ResumeOptions } from './layers/resume.ts'
export type { TcpOptions } from './layers/tcp.ts'
export type {
  DropReason,
  LifecycleEvent,
  LifecycleListener,
  LifecycleType,
  StreamState,
} from './lifecycle.ts'
export type { RequestContext, ResilientSseOptions, RetryContext, UrlOption } from './options.ts'
export { ResilientSse } from './resilient-sse.ts'
export type { SseStats } from './stats.ts'
