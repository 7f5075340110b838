/** What the harness asks of a stream, less the address that it wants to hear back on. */
export interface StreamParameters {
  streamUrl: string
  /** The delay before the first retry. */
  initialDelayMs?: number | undefined
  /** Silence after which a connection counts as dead. */
  readTimeoutMs?: number | undefined
  lastEventId?: string | undefined
  headers?: Record<string, string> | undefined
  method?: string | undefined
  body?: string | undefined
}

/** What a stream has to tell the harness. */
export type Message =
  | { kind: 'event'; event: { type: string; data: string; id: string | undefined } }
  | { kind: 'comment'; comment: string }
  | { kind: 'error'; error: string }

/** A running stream, as far as the harness can steer one. */
export interface Stream {
  /** Be ready for events of this type. */
  listen(type: string): void
  /** Disconnect and dial again. */
  restart(): void
  close(): Promise<void>
}

/** One way to read streams with this package. All that differs between two of them is behind this. */
export interface Client {
  name: string
  /** The optional parts of the contract that this client keeps; the harness skips the cases of the others. */
  capabilities: readonly string[]
  /** @throws when the parameters are not acceptable. */
  start(parameters: StreamParameters, tell: (message: Message) => void): Stream
}
