import type { Message } from '../messages.ts'

// As much of the SDKs' transports, v1 and v2, as is used here. Neither is imported, so its version is the host's.

/** `send` takes one message, or a batch of them (2025-03-26). */
export type Sent = Message | Message[]

/** What a message is sent with. Whatever else an SDK puts here is passed on as it is. */
export interface SendOptions {
  requestSignal?: AbortSignal | undefined
  resumptionToken?: string | undefined
}

/** What every transport of the SDKs has. Methods, so that each SDK's own narrower types fit. */
export interface SdkTransport {
  start(): Promise<void>
  send(message: never, options?: never): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: never, extra?: never) => void) | undefined
  readonly sessionId?: string | undefined
  setProtocolVersion?(version: string): void
}

/** A class of transports that takes a URL and options. `never`: each SDK has options of its own. */
export type TransportClass<T extends SdkTransport> = new (url: URL, options?: never) => T

/** The options of a class of transports. */
export type OptionsOf<C> = C extends new (url: URL, options?: infer Options) => unknown ? Options : never

/** What is public of a class: what is private belongs to the instance behind it. */
export type PublicPart<T> = Pick<T, keyof T>
