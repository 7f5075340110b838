/** What happens to one client in one simulated life. Plain data: generated, shrunk and printed by fast-check. */
export interface Schedule {
  /** Of the client's own chance: jitter. */
  seed: number
  log: LogPlan
  /** What each dial meets, in this order; the dials after them meet a healthy server. */
  legs: Leg[]
  options: OptionsPlan
  consumer: ConsumerPlan
  store: StorePlan | undefined
  disturbances: Disturbance[]
}

/**
 * `unicode`: ids that a header carries as UTF-8 octets. `shared`: two neighbours have one id. `renumbered`: each response
 * counts from 1, whatever was asked. `none`: no ids at all.
 */
export type IdStyle = 'decimal' | 'opaque' | 'unicode' | 'shared' | 'renumbered' | 'none'

export type EntryKind = 'event' | 'typed' | 'lines' | 'long' | 'noId' | 'emptyId' | 'idOnly' | 'unsendable'

export interface LogPlan {
  ids: IdStyle
  entries: EntryKind[]
  /** How many exist from the start; the others come one by one. */
  initial: number
  everyMs: number
  eol: '\n' | '\r\n'
}

export type Leg =
  | { do: 'refuse'; delayMs: number; code: string }
  /** No headers, until the client gives up. */
  | { do: 'hang' }
  | { do: 'status'; delayMs: number; status: number; retryAfter: string | undefined }
  | { do: 'type'; delayMs: number; type: string }
  | { do: 'redirect'; delayMs: number; status: number; hops: number; usable: boolean }
  | StreamLeg

export interface StreamLeg {
  do: 'stream'
  delayMs: number
  from: Origin
  greeting: 'none' | 'comment' | 'idOnly' | 'emptyEvent' | 'retry'
  /** False: nothing tells a complete body from one that was cut. */
  framed: boolean
  writes: Write[]
  end: 'reset' | 'end' | 'stall' | 'follow'
  /** Between the last write and the end; how long a server that follows stays. */
  endAfterMs: number
  /** Between comments while it follows; 0: none. */
  commentsMs: number
}

/**
 * Where a response begins. `after` the id asked for, as it should; `at` it; `overlap` by some; at the `start` of the
 * log, whatever was asked; with what comes from `now` on; or beyond it, as a server that has `forgotten` some.
 */
export type Origin =
  | { from: 'after' | 'at' | 'start' | 'now' }
  | { from: 'overlap' | 'forgotten'; count: number }

/** So many bytes of the log after a pause, and what is put in at the next boundary between blocks. */
export interface Write {
  afterMs: number
  /** 0: everything there is. */
  bytes: number
  plus: 'nothing' | 'comment' | { retry: string }
}

export interface OptionsPlan {
  heartbeat: 'auto' | 'off' | number
  dedupe: 'off' | { capacity: number; by: 'id' | 'id+data' }
  breaker: 'off' | 'shared' | { threshold: number; cooldownMs: number; onOpen: 'auto' | 'wait' | 'throw' }
  backoff: 'off' | { baseMs: number; jitter: 'full' | 'equal' | 'decorrelated' | number; maxAttempts: number }
  resume: 'off' | { onGap: 'report' | 'throw'; isNext: boolean }
  openTimeoutMs: number
  maxConnectionMs: number | undefined
  reconnectOnEnd: boolean
  /** Whether fetch rejects a pending read when it is aborted; some do not. */
  deafFetch: boolean
}

export interface ConsumerPlan {
  reads: 'events' | 'batches' | 'ahead'
  ack: 'next' | 'manual'
  /** Milliseconds of work for each event, over and over. */
  workMs: number[]
  /** At the n-th event of the whole simulation. */
  acts: { at: number; do: 'break' | 'throw' | 'reconnect' | 'crash' | 'abort' | 'close' }[]
  restartMs: number
}

export interface StorePlan {
  /** For each save, over and over: its time, and whether it fails. */
  saves: { ms: number; fails: boolean }[]
  loadMs: number
  /** How many loads fail at first. */
  failingLoads: number
}

/**
 * `sleep`: the machine's uptime runs ahead. `freeze`: the process stood still, or its clock ran on in sleep. `wallclock`:
 * somebody set the clock.
 */
export interface Disturbance {
  atMs: number
  do: 'sleep' | 'freeze' | 'wallclock' | 'reconnect' | 'abort' | 'close' | 'crash'
  ms: number
}
