// The tool of the demonstration: long work that lets its client poll instead of holding a connection open (SEP-1699).
import { setTimeout as sleep } from 'node:timers/promises'

export const DESCRIPTION = 'Processes a batch; at each checkpoint the stream is closed, and the client polls'

/** As JSON Schema, which both APIs of the SDK can be given or derive from. */
export const INPUT = {
  items: {
    type: 'integer',
    minimum: 1,
    maximum: 10_000,
    default: 10,
    description: 'How many items there are',
  },
  checkpoint_every: {
    type: 'integer',
    minimum: 1,
    maximum: 10_000,
    default: 3,
    description: 'After how many items the stream is closed',
  },
} as const

/** What the tool needs of the SDK, whichever API it is registered with. */
export interface Call {
  /** Sends a log notification on the call's own stream. */
  log: (text: string) => Promise<void>
  /** Closes that stream and leaves the call running; `undefined` without an event store, and in older revisions. */
  closeStream: (() => void) | undefined
  /** Longer than the client waits before it polls. */
  pauseMs: number
  /** The caller no longer wants the answer. */
  signal: AbortSignal
}

export async function processBatch(items: number, checkpointEvery: number, call: Call): Promise<string> {
  let checkpoints = 0
  for (let item = 1; item <= items; item++) {
    call.signal.throwIfAborted()
    await call.log(`Processed item ${item} of ${items}`)
    if (item % checkpointEvery !== 0 || item === items) continue
    checkpoints++
    call.closeStream?.()
    // Once it is closed nobody listens: this message is kept, and arrives with the poll.
    const when = call.closeStream ? 'sent while no stream was open' : 'the stream stays open'
    await call.log(`Checkpoint at item ${item} of ${items}: ${when}`)
    await sleep(call.pauseMs, undefined, { signal: call.signal })
  }
  return `Processed ${items} items; checkpoints: ${checkpoints}`
}
