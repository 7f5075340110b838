/**
 * A server that breaks on purpose: scripted in words, it cuts, resets, goes silent, replays and refuses, and keeps
 * account of what it did, so that a client's promises can be tested on real sockets. And a relay that does the like to any server.
 */
export { ChaosRelay, chaosRelay } from './chaos.js'
export type { ChaosFault, ChaosFaultName, ChaosRange, ChaosTiming, DealtFault } from './chaos-faults.js'
export type { ChaosRelayOptions } from './chaos-options.js'
export type { ChaosConnection, ChaosRecord } from './chaos-records.js'
export { type ChaosSpawnOptions, RemoteChaosRelay } from './chaos-remote.js'
export { ChaosOptionError, FaultServerOptionError } from './errors.js'
export type { HeaderFields } from './http.js'
export type { OnUnknownId } from './ledger.js'
export {
  EventLog,
  type EventLogOptions,
  encodeEvent,
  eventLog,
  type IdStyle,
  type ServerEvent,
} from './log.js'
export type { FaultServerOptions } from './options.js'
export type { FaultRecord, RecordedRequest } from './records.js'
export { RemoteFaultServer, type SpawnOptions } from './remote.js'
export { FaultServer } from './server.js'
export type * from './steps.js'
export * from './words.js'
export * from './words-http.js'
