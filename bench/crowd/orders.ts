/** What the server of the crowd is told to do. */
export type Order =
  | { do: 'quiet' }
  /** To each stream one, every so often. */
  | { do: 'comments'; everyMs: number }
  /** Single frames, over all streams so many a second, until each has had its share. */
  | { do: 'frames'; perSecond: number; each: number }
  /** To each stream so many frames, in writes of some. */
  | { do: 'bursts'; each: number; ofFrames: number }

/** What a client process of the crowd is told to do. */
export type ClientOrder =
  /** Take the time from now on; tell it when all streams have had so many frames, or at `tell`. */
  { do: 'measure'; each: number } | { do: 'tell' }

/** What the client process says once all of its streams are open. */
export interface Opened {
  openMs: number
  /** Of the process, above what it was before the first of them. */
  rssBytes: number
  heapBytes: number
  /** Alive, if they were to be counted. */
  timers: number
}

/** What it says of a measured time. */
export interface Measured {
  cpuNs: number
  wallMs: number
  events: number
  /** Events that were not the next of their stream. */
  wrong: number
  /** How much later than due the event loop came round: p99. */
  lateMs: number
}
